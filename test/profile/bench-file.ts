/** @file What `tc-lint bench -f json` writes of a GPU where each step takes a multiple of what was predicted. */
import type { DeviceInfo } from "../../cuda-runtime/driver/driver.ts";
import type { Times } from "../../cuda-runtime/session/timing.ts";
import { planFile, priceSizes } from "../../src/api/runs.ts";
import { type BenchReport, benchReport } from "../../src/gpu/bench-report.ts";
import { findGpu } from "../../src/hardware/gpus.ts";
import { inOrderMicroseconds } from "../../src/report/steps-text.ts";

export const device: DeviceInfo = {
  index: 0,
  name: "NVIDIA H200",
  computeCapability: 90,
  totalBytes: 141e9,
  multiprocessors: 132,
  sharedBytesPerBlock: 232_448,
  l2Bytes: 50 << 20,
  clockMegahertz: 1980,
  memoryBytesPerSecond: 4.8e12,
};

export const timesOf = (median: number): Times => ({ median, low: median, high: median, repeats: 3 });

export interface Benched {
  readonly precision: "fp16" | "as-is";
  /** What a step takes, of what is predicted. */
  readonly times: number;
  readonly dims?: Readonly<Record<string, number>>;
}

/** Of the file as it is. */
export async function benchOf(model: string, { precision, times, dims = {} }: Benched): Promise<BenchReport> {
  const gpu = findGpu("h200");
  if (gpu === undefined) throw new Error("no row for the GPU");
  const asked = precision === "as-is" ? ("model" as const) : precision;
  // Of all symbols, those that inputs have.
  const ofInputs = Object.keys(priceSizes(model, {}).sizes);
  const sizes = Object.fromEntries(Object.entries(dims).filter(([name]) => ofInputs.includes(name)));
  const choice = { precision: asked, fix: false, dims: sizes, config: { kind: "none" } } as const;
  const limits = { timeoutSeconds: undefined, memoryBytes: undefined, onNotice: () => undefined };
  const plan = await planFile(model, gpu, choice, limits);
  const run = {
    outputs: [],
    isFixed: false,
    sizes: plan.sizes,
    launches: plan.steps.length,
    memory: { constantBytes: 0, arenaBytes: 0, inputBytes: 0, outputBytes: 0, loadBytes: 0 },
    times: timesOf(plan.predictedMicroseconds * times * 1.1),
    steps: plan.steps.map((step) => ({ ...step, times: timesOf(inOrderMicroseconds(step) * times) })),
    seconds: { open: 1, plan: 1, load: 1, run: 1 },
    compiled: 0,
  };
  const name = `${asked.toUpperCase()} as exported`;
  return benchReport({ kind: "run", device, driverVersion: 13_000, runs: [run], cacheProblem: undefined }, [
    { name, model, precision: asked, fixed: false },
  ]);
}
