/** A plan and a benchmark as text: what takes the time first, nothing wider than a page, and no kernel's name cut. */
import { describe, expect, it } from "vitest";
import type { DeviceInfo } from "../../cuda-runtime/driver/driver.ts";
import type { Times } from "../../cuda-runtime/session/timing.ts";
import { planFile } from "../../src/api/runs.ts";
import type { BenchReport } from "../../src/gpu/bench-report.ts";
import type { PlanReport } from "../../src/gpu/plan-report.ts";
import { findGpu } from "../../src/hardware/gpus.ts";
import { duration } from "../../src/ir/format.ts";
import { renderBenchText, renderPlanText } from "../../src/report/bench-text.ts";
import { eachModel, zooModel } from "../zoo.ts";

const models = ["bert", "crnn", "dlrm", "misaligned_cnn", "shufflenet_v2", "swin_tiny", "yolo"];
const width = 120;

async function planned(name: string): Promise<PlanReport> {
  const gpu = findGpu("h100");
  if (gpu === undefined) throw new Error("no row for the GPU");
  const choice = { precision: undefined, fix: false, dims: {}, config: { kind: "none" } } as const;
  return planFile(zooModel(name), gpu, choice, {
    timeoutSeconds: undefined,
    memoryBytes: undefined,
    onNotice: () => {},
  });
}

const timesOf = (median: number): Times => ({ median, low: median, high: median, repeats: 50 });

const gpu: DeviceInfo = {
  index: 0,
  name: "NVIDIA H100",
  computeCapability: 90,
  totalBytes: 8e10,
  multiprocessors: 132,
  sharedBytesPerBlock: 232_448,
  l2Bytes: 5e7,
  clockMegahertz: 1980,
  memoryBytesPerSecond: 3.35e12,
};

/** As if each step had taken what was predicted. */
function measured(plan: PlanReport): BenchReport {
  const { model, steps, sizes } = plan;
  const configuration = {
    name: "FP16 as exported",
    ...({ precision: "fp16", fixed: false } as const),
    model,
    sizes,
    launches: steps.length,
    memory: { constantBytes: 1e8, arenaBytes: 1e7, inputBytes: 1e5, outputBytes: 1e5, loadBytes: 0 },
    times: timesOf(plan.predictedMicroseconds),
    seconds: { open: 1, plan: 1, load: 1, run: 1 },
    compiled: 0,
    tensorCoreShare: 0.8,
    steps: steps.map((step) => ({
      ...step,
      times: timesOf(step.predictedMicroseconds),
      teraflops: 1,
      gigabytesPerSecond: 1,
      rooflineMicroseconds: step.predictedMicroseconds / 2,
    })),
  };
  return { gpu, row: "h100", driver: "CUDA 13.0", configurations: [configuration] };
}

interface Row {
  readonly count: number;
  readonly microseconds: number;
}

/** `12 ×  41.2 µs` of each entry, or `7  41.2 µs` in order. */
function rowsOf(text: string): Row[] {
  const units: Readonly<Record<string, number>> = { µs: 1, ms: 1e3, s: 1e6 };
  return [...text.matchAll(/^ *(\d+)( ×)? +([\d.]+) (µs|ms|s) /gm)].map(
    ([, count = "", times, time = "", unit = ""]) => ({
      count: times === undefined ? 1 : Number(count),
      microseconds: Number(time) * (units[unit] ?? Number.NaN),
    }),
  );
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);

function expectWhole(text: string, plan: PlanReport, steps = plan.steps): void {
  const wide = text.split("\n").filter((line) => line.length > width && !line.includes(plan.model));
  expect(wide).toEqual([]);
  for (const { kernel } of steps) expect(text).toContain(kernel);
}

function expectTotal(rows: readonly Row[], { steps, predictedMicroseconds }: PlanReport): void {
  expect(sum(rows.map(({ count }) => count))).toBe(steps.length);
  // Each is rounded to three digits.
  const total = sum(rows.map(({ microseconds }) => microseconds));
  expect(Math.abs(total / predictedMicroseconds - 1)).toBeLessThan(0.005);
}

describe("A plan as text", () => {
  eachModel(models)("of %s is worst first, repeats folded, in lines of a page", async (name) => {
    const plan = await planned(name);
    const text = renderPlanText(plan, { color: 0, verbose: false });
    expectWhole(text, plan, [...plan.prepare, ...plan.steps]);
    const rows = rowsOf(text);
    expectTotal(rows, plan);
    const times = rows.map(({ microseconds }) => microseconds);
    expect(times).toEqual([...times].sort((a, b) => b - a));
    expect(text.split("\n").findIndex((line) => line.startsWith("runs "))).toBeLessThan(16);
    expect(text).toContain(`${plan.prepare.length} loading step`);
  });

  eachModel(models)("of %s has every step in order with --verbose", async (name) => {
    const plan = await planned(name);
    const text = renderPlanText(plan, { color: 0, verbose: true });
    expectWhole(text, plan, [...plan.prepare, ...plan.steps]);
    expectTotal(rowsOf(text.slice(text.indexOf("\nevery run\n"))), plan);
  });

  it("folds what is the same kernel at the same sizes", async () => {
    const plan = await planned("crnn");
    const [step] = plan.steps;
    if (step === undefined) throw new Error("no steps");
    const text = renderPlanText(
      { ...plan, steps: [step, step, step], predictedMicroseconds: 3 * step.predictedMicroseconds },
      { color: 0, verbose: false },
    );
    expect(rowsOf(text).map(({ count }) => count)).toEqual([3]);
    expect(text).toContain(`${step.label} and 2 more`);
  });
});

/** All text on one line. */
const unwrapped = (text: string) => text.replace(/\s+/g, " ");

eachModel(["yolo"])("%s says how many launches run beside others, and what that hides", async (name) => {
  const plan = await planned(name);
  const beside = plan.steps.filter(({ runShare }) => runShare !== null);
  const shares = beside.map(({ predictedMicroseconds, runShare }) => predictedMicroseconds / (runShare ?? 1));
  const said = `${beside.length} of the launches run beside others, on ${new Set(beside.map(({ lane }) => lane)).size} lanes of the graph: one behind another they would take ${duration(sum(shares))}`;
  expect(beside.length).toBeGreaterThan(3);
  expect(unwrapped(renderPlanText(plan, { color: 0, verbose: false }))).toContain(said);
  const verbose = renderPlanText(plan, { color: 0, verbose: true });
  expect(verbose.match(/, beside others on lane \d/g)).toHaveLength(beside.length);
  const benched = unwrapped(renderBenchText(measured(plan), { color: 0, verbose: false }));
  expect(benched).toContain(`FP16 as exported: steps by themselves add up to `);
  expect(benched).toContain(said);
});

describe("A benchmark as text", () => {
  eachModel(models)("of %s is worst first, repeats folded, in lines of a page", async (name) => {
    const plan = await planned(name);
    for (const verbose of [false, true]) {
      const text = renderBenchText(measured(plan), { color: 0, verbose });
      expectWhole(text, plan);
      expectTotal(rowsOf(text), plan);
    }
  });
});
