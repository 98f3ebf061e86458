/** @file What a benchmark measured, ready for JSON. */
import type { DeviceInfo } from "../../cuda-runtime/driver/driver.ts";
import { versionText } from "../../cuda-runtime/session/open.ts";
import type { Gpu } from "../hardware/gpu.ts";
import { gpuOfDevice } from "../hardware/machine.ts";
import type { RunReport, RunsReport, StepReport } from "./protocol.ts";
import { type Rates, ratesOf, rooflineMicroseconds } from "./roofline.ts";

export interface BenchStep extends StepReport {
  readonly teraflops: number;
  readonly gigabytesPerSecond: number;
  /** Undefined where there is no row for the GPU. */
  readonly rooflineMicroseconds: number | undefined;
}

export interface BenchConfiguration extends Omit<RunReport, "outputs" | "steps"> {
  /** `FP16 fixed`. */
  readonly name: string;
  readonly model: string;
  readonly steps: readonly BenchStep[];
  /** Of the steps' time, what kernels with Tensor Core instructions take. */
  readonly tensorCoreShare: number | undefined;
}

export interface BenchReport {
  readonly gpu: DeviceInfo;
  /** The row that rooflines come from. */
  readonly row: string | undefined;
  readonly driver: string;
  readonly configurations: readonly BenchConfiguration[];
}

export function benchReport(
  { device, driverVersion, runs }: RunsReport,
  names: readonly { readonly name: string; readonly model: string }[],
): BenchReport {
  const row = gpuOfDevice(device);
  return {
    gpu: device,
    row: row?.id,
    driver: `CUDA ${versionText(driverVersion)}`,
    configurations: runs.map((run, index) => ({
      ...(names[index] ?? { name: "", model: "" }),
      ...configurationOf(run, row),
    })),
  };
}

function configurationOf(run: RunReport, row: Gpu | undefined): Omit<BenchConfiguration, "name" | "model"> {
  const { outputs: _, steps = [], ...rest } = run;
  const rates = row === undefined ? undefined : ratesOf(row);
  return {
    ...rest,
    steps: steps.map((step) => benchStep(step, rates)),
    tensorCoreShare: tensorCoreShare(steps),
  };
}

function benchStep(step: StepReport, rates: Rates | undefined): BenchStep {
  const seconds = step.times.median / 1e6;
  return {
    ...step,
    teraflops: step.flops / seconds / 1e12,
    gigabytesPerSecond: step.bytes / seconds / 1e9,
    rooflineMicroseconds: rates === undefined ? undefined : rooflineMicroseconds(step, rates),
  };
}

/** Undefined where steps were not timed. */
export function tensorCoreShare(steps: readonly StepReport[]): number | undefined {
  const sum = (each: readonly StepReport[]) => each.reduce((total, { times }) => total + times.median, 0);
  return steps.length === 0 ? undefined : sum(steps.filter(({ tensor }) => tensor !== null)) / sum(steps);
}
