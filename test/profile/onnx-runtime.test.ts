/**
 * ONNX Runtime's profiles: one that it wrote (fixtures/profiles), and one that it writes now. Events of its CUDA provider are handwritten: the
 * category `Kernel` is that of onnxruntime/core/common/profiler_common.h; that `parent_name` names the node's event was not seen in a
 * profile of a GPU yet.
 */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { lint } from "../../src/api/lint.ts";
import type { ModelReport } from "../../src/lint/result.ts";
import { expectParts, expectSteps } from "../lint/sums.ts";
import { fixtureModel, fixtureProfile, profileFolder } from "./files.ts";

const file = profileFolder();
const model = fixtureModel("seg_unet");
const recorded = fixtureProfile("seg_unet.ort.json");

interface RecordedEvent {
  readonly cat: string;
  readonly name: string;
  readonly ts: number;
  readonly dur: number;
}

/** Medians of what the runs after the first took, in the order of the file. */
function mediansOf(path: string): Map<string, number> {
  const events: readonly RecordedEvent[] = JSON.parse(readFileSync(path, "utf8"));
  const [, second = 0] = events
    .filter(({ name }) => name === "model_run")
    .map(({ ts }) => ts)
    .sort((a, b) => a - b);
  const times = new Map<string, number[]>();
  for (const { cat, name, ts, dur } of events)
    if (cat === "Node" && ts >= second) times.set(name, [...(times.get(name) ?? []), dur]);
  return new Map([...times].map(([name, each]) => [name, each.sort((a, b) => a - b)[1] ?? 0]));
}

function timeOf({ layers = [] }: ModelReport, ...names: readonly string[]): number {
  return layers
    .filter(({ node }) => names.includes(node))
    .reduce((sum, { microseconds }) => sum + microseconds, 0);
}

describe("a profile that ONNX Runtime wrote", () => {
  it("is the account, run for run and node for node", async () => {
    const report = await lint(model, { profile: [recorded], layers: true, verbose: true });
    const medians = mediansOf(recorded);
    const total = [...medians.values()].reduce((sum, time) => sum + time, 0);
    expect(report.error).toBeNull();
    expect(report.target.precision).toBe("as-is");
    expect(report.profile).toMatchObject({ tool: "onnxruntime", runs: 3, leftOut: 1, statistic: "median" });
    expect(report.predicted.microseconds).toBeCloseTo(total, 6);
    expect(report.account[0]).toMatchObject({ step: "exported", measured: true });
    expect(report.profile?.untimed.nodes).toBe(0);
    expect(report.profile?.unmapped.layers.every(({ name }) => name.startsWith("Reorder"))).toBe(true);
    expect(report.notices.map(({ code }) => code)).toContain("profile-cpu");
    expect(report.profile?.onCpu).toBe(true);
    expect(report.predicted.tensorCoreShare).toBe(0);
    expect(report.groups.some(({ saves }) => (saves?.share ?? 0) > 0.05)).toBe(true);
    expect(report.groups.map(({ severity }) => severity)).not.toContain("error");
    expectSteps(report);
    expectParts(report);
  });

  it("names a convolution after the activation that is fused to it, or itself, and has both", async () => {
    const report = await lint(model, { profile: [recorded], layers: true });
    const medians = mediansOf(recorded);
    const first = medians.get("/d1/d1.0/d1.0.2/Relu_output_0_nchwc_kernel_time");
    expect(timeOf(report, "/d1/d1.0/d1.0.0/Conv", "/d1/d1.0/d1.0.2/Relu")).toBeCloseTo(
      first ?? Number.NaN,
      6,
    );
    const second = medians.get("/d1/d1.1/d1.1.0/Conv_kernel_time");
    expect(timeOf(report, "/d1/d1.1/d1.1.0/Conv", "/d1/d1.1/d1.1.2/Relu")).toBeCloseTo(
      second ?? Number.NaN,
      6,
    );
  });

  it("is another model's where too few nodes have a time", async () => {
    await expect(lint(fixtureModel("resnet50"), { profile: [recorded] })).rejects.toMatchObject({
      code: "profile-mismatch",
      message: expect.stringContaining("seg_unet.ort.json"),
    });
  });
});

describe("a profile that ONNX Runtime writes now", () => {
  it("is read as the recorded one is", async () => {
    const path = file("now.json", "");
    const script = fixtureProfile("onnx-runtime.mjs");
    await promisify(execFile)(process.execPath, [script, "misaligned_cnn", "3", path]);
    const report = await lint(fixtureModel("misaligned_cnn"), { profile: [path], verbose: true });
    expect(report.error).toBeNull();
    expect(report.profile).toMatchObject({ tool: "onnxruntime", runs: 2, leftOut: 1, untimed: { nodes: 0 } });
    expectSteps(report);
    expectParts(report);
  });
});

describe("a profile of the CUDA provider", () => {
  const names = [
    "/a/a.0/Conv",
    "/a/a.2/Mul/QuickGeluFusion/",
    "/b/b.0/Conv",
    "/b/b.2/Mul/QuickGeluFusion/",
    "/ReduceMean",
    "/fc/Gemm",
  ];
  const ops = ["Conv", "QuickGelu", "Conv", "QuickGelu", "ReduceMean", "Gemm"];

  function run(start: number, kernelMicroseconds: number) {
    const at = { pid: 1, tid: 1, ph: "X" };
    const nodes = names.flatMap((name, index) => [
      {
        ...at,
        cat: "Node",
        name: `${name}_kernel_time`,
        ts: start + index,
        dur: 1,
        args: { op_name: ops[index], provider: "CUDAExecutionProvider" },
      },
      {
        ...{ ...at, cat: "Kernel", name: "sm80_xmma_fprop", ts: start + index, dur: kernelMicroseconds },
        args: { op_name: ops[index], parent_name: `${name}_kernel_time`, stream: "7" },
      },
    ]);
    return [...nodes, { ...at, cat: "Session", name: "model_run", ts: start, dur: 90, args: {} }];
  }

  it("counts kernels, not launches, and takes what leads to a fused node with it", async () => {
    const path = file("cuda.json", [...run(0, 500), ...run(100, 9), ...run(200, 11), ...run(300, 20)]);
    const report = await lint(fixtureModel("misaligned_cnn"), { profile: [path], layers: true });
    expect(report.predicted.microseconds).toBeCloseTo(66, 9);
    expect(timeOf(report, "/a/a.2/Sigmoid", "/a/a.2/Mul")).toBeCloseTo(11, 9);
    expect(report.profile?.untimed.nodes).toBe(0);
    expect(report.notices.map(({ code }) => code)).not.toContain("profile-cpu");
  });
});
