/**
 * PyTorch's traces, handwritten in the shape that pytorch/kineto writes (libkineto/src/output_json.cpp, `handleActivity`): a kernel has an
 * `External id` where it is linked to an operator, and else its `correlation` alone.
 */
import { describe, expect, it } from "vitest";
import { lint } from "../../src/api/lint.ts";
import { fixtureModel, profileFolder } from "./files.ts";

const file = profileFolder();
const model = fixtureModel("misaligned_cnn");

/** Modules of the model, and what their kernels take. */
const modules = [
  ["a.0", 10],
  ["a.2", 4],
  ["b.0", 30],
  ["b.2", 5],
  ["fc", 6],
] as const;

const cpu = { ph: "X", pid: 1, tid: 1 };
const gpu = { ph: "X", pid: 0, tid: 7 };

function step(number: number, times: number) {
  const start = number * 10_000;
  const events: unknown[] = [
    { ...cpu, cat: "user_annotation", name: `ProfilerStep#${number}`, ts: start, dur: 9_000 },
  ];
  for (const [index, [name, microseconds]] of modules.entries()) {
    const ts = start + 100 * (index + 1);
    const id = number * 100 + index;
    events.push({ ...cpu, cat: "user_annotation", name, ts, dur: 50 });
    events.push({
      ...cpu,
      cat: "cpu_op",
      name: "aten::op",
      ts: ts + 5,
      dur: 20,
      args: { "External id": id },
    });
    events.push({
      ...cpu,
      cat: "cuda_runtime",
      name: "cudaLaunchKernel",
      ts: ts + 10,
      dur: 3,
      args: { correlation: id },
    });
    // Every other kernel has its launch alone.
    const args = index % 2 === 0 ? { "External id": id, correlation: id } : { correlation: id };
    events.push({
      ...gpu,
      cat: "kernel",
      name: "void gemm()",
      ts: ts + 4000,
      dur: microseconds * times,
      args,
    });
  }
  // What is in no module.
  events.push({
    ...cpu,
    cat: "cpu_op",
    name: "aten::mean",
    ts: start + 800,
    dur: 9,
    args: { "External id": number * 100 + 50 },
  });
  events.push({
    ...gpu,
    cat: "kernel",
    name: "reduce_kernel",
    ts: start + 5000,
    dur: 2 * times,
    args: { "External id": number * 100 + 50 },
  });
  return events;
}

describe("a trace of torch.profiler", () => {
  it("has kernels by the module around their launch, medians over steps without the first", async () => {
    const traceEvents = [...step(1, 50), ...step(2, 1), ...step(3, 2), ...step(4, 3)];
    const report = await lint(model, {
      stack: "cudnn",
      profile: [file("trace.json", { schemaVersion: 1, traceEvents })],
      layers: true,
    });
    expect(report.error).toBeNull();
    expect(report.profile).toMatchObject({ tool: "pytorch", runs: 3, leftOut: 1, statistic: "median" });
    expect(report.predicted.microseconds).toBeCloseTo(114, 9);
    const times = new Map((report.layers ?? []).map(({ node, microseconds }) => [node, microseconds]));
    expect(times.get("/b/b.0/Conv")).toBeCloseTo(60, 9);
    expect((times.get("/a/a.2/Sigmoid") ?? 0) + (times.get("/a/a.2/Mul") ?? 0)).toBeCloseTo(8, 9);
    expect(report.profile?.unmapped).toMatchObject({
      microseconds: 4,
      layers: [{ name: "aten::mean", microseconds: 4 }],
    });
    expect(report.profile?.untimed.nodes).toBe(1);
  });

  it("of several runs that nothing parts is refused", async () => {
    const unmarked = [...step(1, 1), ...step(2, 1)].filter(
      (event) => !JSON.stringify(event).includes("ProfilerStep"),
    );
    const path = file("unmarked.json", { traceEvents: unmarked });
    await expect(lint(model, { profile: [path] })).rejects.toMatchObject({
      code: "bad-profile",
      message: expect.stringContaining("profiler.step()"),
    });
  });

  it("of a CPU has operators, the outermost", async () => {
    const traceEvents = step(1, 1).filter((event) => !JSON.stringify(event).includes('"kernel"'));
    const report = await lint(model, { profile: [file("cpu.json", { traceEvents })] });
    expect(report.predicted.microseconds).toBeCloseTo(5 * 20 + 9, 9);
    expect(report.notices.map(({ code }) => code)).toContain("profile-cpu");
  });
});
