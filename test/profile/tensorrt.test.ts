/**
 * TensorRT's profiles, handwritten. `name`, `timeMs`, `averageMs`, `percentage`, `count`: NVIDIA/TensorRT, samples/common/sampleReporting.cpp,
 * `exportJSONProfile`; `medianMs`: tools/experimental/trt-engine-explorer/trex/engine_plan.py, which reads it. Names of fused layers and
 * `Metadata`: as engines' layers are quoted publicly (NVIDIA/TensorRT issue 4020 for names; `[ONNX Layer: a]` parted by U+001F or U+001E).
 */
import { describe, expect, it } from "vitest";
import { lint } from "../../src/api/lint.ts";
import type { ModelReport } from "../../src/lint/result.ts";
import { mentionsIn } from "../../src/profile/tensorrt.ts";
import { expectParts, expectSteps } from "../lint/sums.ts";
import { fixtureModel, profileFolder } from "./files.ts";

const file = profileFolder();
const model = fixtureModel("misaligned_cnn");
const options = { stack: "tensorrt", precision: "fp16", layers: true, verbose: true } as const;

type Times = Readonly<Record<string, number>>;

/** Milliseconds by layer, of 200 runs. */
function profile(times: Times) {
  const layers = Object.entries(times).map(([name, medianMs]) => ({
    ...{ name, timeMs: medianMs * 202, averageMs: medianMs * 1.01, medianMs, percentage: 1 },
  }));
  return [{ count: 200 }, ...layers];
}

const fused: Times = {
  "Reformatting CopyNode for Input Tensor 0 to /a/a.0/Conv": 0.002,
  "/a/a.0/Conv": 0.01,
  "PWN(PWN(/a/a.2/Sigmoid), /a/a.2/Mul)": 0.004,
  "/b/b.0/Conv + PWN(PWN(/b/b.2/Sigmoid), /b/b.2/Mul)": 0.03,
  "{ForeignNode[/ReduceMean.../fc/Gemm]}": 0.006,
};

function timeOf({ layers = [] }: ModelReport, ...names: readonly string[]): number {
  return layers
    .filter(({ node, fused: others }) => [node, ...others].some((name) => names.includes(name)))
    .reduce((sum, { microseconds }) => sum + microseconds, 0);
}

describe("a layer's name", () => {
  it.each([
    ["/conv1/Conv + /relu/Relu", ["/conv1/Conv", "/relu/Relu"]],
    ["/q/MatMul || /k/MatMul", ["/q/MatMul", "/k/MatMul"]],
    ["PWN(/s/Sigmoid, /m/Mul)", ["/s/Sigmoid", "/m/Mul"]],
    ["/c/Conv + PWN(PWN(/s/Sigmoid), /m/Mul)", ["/c/Conv", "/s/Sigmoid", "/m/Mul"]],
    ["PWN(Mul(x))", ["Mul(x)"]],
  ])("%s lists its nodes", (name, nodes) => {
    expect(mentionsIn(name)).toEqual(nodes.map((node) => ({ kind: "name", names: [node] })));
  });

  it("has a part of the graph from one node to another", () => {
    expect(mentionsIn("{ForeignNode[/a/Add.../b/Mul]} + /c/Conv")).toEqual([
      { kind: "range", from: "/a/Add", to: "/b/Mul" },
      { kind: "name", names: ["/c/Conv"] },
    ]);
  });

  it("has a number behind it where the second compiler made it", () => {
    expect(mentionsIn("/m_0/MatMul_1_myl109_5")).toEqual([
      { kind: "name", names: ["/m_0/MatMul_1_myl109_5", "/m_0/MatMul_1"] },
    ]);
  });
});

describe("a profile of trtexec", () => {
  it("puts medians in the place of predictions, fused layers' in that of their nodes together", async () => {
    const report = await lint(model, { ...options, profile: [file("fused.json", profile(fused))] });
    expect(report.error).toBeNull();
    expect(report.predicted).toMatchObject({ basis: "profile" });
    expect(report.predicted.microseconds).toBeCloseTo(52, 9);
    expect([report.predicted.low, report.predicted.high]).toEqual(
      [52, 52].map((each) => expect.closeTo(each, 9)),
    );
    expect(timeOf(report, "/a/a.0/Conv")).toBeCloseTo(10, 9);
    expect(timeOf(report, "/b/b.0/Conv", "/b/b.2/Sigmoid", "/b/b.2/Mul")).toBeCloseTo(30, 9);
    expect(timeOf(report, "/ReduceMean", "/fc/Gemm")).toBeCloseTo(6, 9);
    expect(report.profile).toMatchObject({
      ...{ tool: "tensorrt", runs: 200, leftOut: 0, statistic: "median" },
      unmapped: {
        microseconds: 2,
        share: expect.closeTo(2 / 52, 9),
        layers: [{ name: "Reformatting CopyNode for Input Tensor 0 to /a/a.0/Conv", microseconds: 2 }],
      },
      untimed: { nodes: 0, share: 0 },
    });
    expectSteps(report);
    expectParts(report);
    expect(report.account.find(({ step }) => step === "precision")).toMatchObject({ measured: true });
  });

  it("takes the nodes of a layer from the second file", async () => {
    const named: Times = { __myl_Conv_myl0_1: 0.01, __myl_SigMul_myl0_2: 0.002, __myl_Rest_myl0_3: 0.03 };
    const metadata = [
      "[ONNX Layer: /a/a.0/Conv]",
      "[ONNX Layer: /a/a.2/Sigmoid]\u001f[ONNX Layer: /a/a.2/Mul]",
      ["/b/b.0/Conv", "/b/b.2/Sigmoid", "/b/b.2/Mul", "/ReduceMean", "/fc/Gemm"]
        .map((each) => `[ONNX Layer: ${each}]`)
        .join("\u001e"),
    ];
    const layers = Object.keys(named).map((name, index) => ({
      Name: name,
      LayerType: "kgen",
      Metadata: metadata[index],
    }));
    const times = file("myelin.json", profile(named));
    await expect(lint(model, { ...options, profile: [times] })).rejects.toThrow(/exportLayerInfo/);
    // In either order: each file is known by what it holds.
    const info = file("layers.json", { Layers: layers, Bindings: ["x"] });
    for (const both of [
      [times, info],
      [info, times],
    ]) {
      const report = await lint(model, { ...options, profile: both });
      expect(timeOf(report, "/a/a.0/Conv")).toBeCloseTo(10, 9);
      expect(timeOf(report, "/a/a.2/Sigmoid", "/a/a.2/Mul")).toBeCloseTo(2, 9);
      expect(report.profile?.unmapped.share).toBe(0);
    }
  });

  it("says which nodes have no time, and claims nothing of them", async () => {
    const { "/a/a.0/Conv": _, ...rest } = fused;
    const report = await lint(model, { ...options, profile: [file("without.json", profile(rest))] });
    expect(report.profile?.untimed).toEqual({ nodes: 1, share: expect.closeTo(1 / 8, 9) });
    expect(timeOf(report, "/a/a.0/Conv")).toBe(0);
    for (const { node, saves } of report.findings)
      if (node === "/a/a.0/Conv") expect(saves?.microseconds ?? 0).toBe(0);
    expectSteps(report);
    expectParts(report);
  });

  it("scales a finding by its own kernel, and caps it at what that takes", async () => {
    const stored = { ...options, stack: "ort-cuda", precision: "as-is" } as const;
    const both = "/b/b.0/Conv + PWN(PWN(/b/b.2/Sigmoid), /b/b.2/Mul)";
    const reports = [0.03, 0.3].map((time, index) =>
      lint(model, {
        ...stored,
        profile: [file(`scaled-${index}.json`, profile({ ...fused, [both]: time }))],
      }),
    );
    const [fast, slow] = await Promise.all(reports);
    const saved = (report: ModelReport | undefined) =>
      report?.findings.find(({ code, node }) => code === "TC101" && node === "/b/b.0/Conv")?.saves;
    // What padding costs elsewhere is shared out among all that it saves.
    const times = (saved(slow)?.microseconds ?? 0) / (saved(fast)?.microseconds ?? Number.NaN);
    expect(Math.abs(times - 10)).toBeLessThan(0.2);
    expect(saved(slow)?.high).toBeLessThanOrEqual(slow === undefined ? 0 : timeOf(slow, "/b/b.0/Conv"));
  });
});

describe("any times", () => {
  it.each([1, 2, 3, 4, 5])("add up, and are claimed once (seed %i)", async (seed) => {
    let state = seed;
    const random = () => {
      state = (state * 48271) % 2147483647;
      return state / 2147483647;
    };
    const predicted = await lint(fixtureModel("seg_unet"), { ...options, precision: "as-is" });
    const times = (predicted.layers ?? []).map(({ node, fused: others }) => [
      [node, ...others].join(" + "),
      random() < 0.1 ? 0 : 10 ** (3 * random() - 3),
    ]);
    const path = file(
      `random-${seed}.json`,
      profile({ ...Object.fromEntries(times), "a layer of nobody": 0.01 }),
    );
    const report = await lint(fixtureModel("seg_unet"), { ...options, precision: "as-is", profile: [path] });
    expectSteps(report);
    expectParts(report);
    const whole = (report.layers ?? []).reduce((sum, { microseconds }) => sum + microseconds, 0);
    expect(whole).toBeCloseTo(report.profile?.microseconds ?? Number.NaN, 6);
    expect(report.account[0]?.microseconds).toBeCloseTo(whole, 6);
    for (const { saves } of report.findings)
      if (saves !== null)
        expect(saves.high).toBeLessThanOrEqual(Math.max(saves.of, saves.microseconds) + 1e-6);
  });
});
