/** @file What a benchmark measured, ready for JSON. */
import type { DeviceInfo } from "../../cuda-runtime/driver/driver.ts";
import type { Precision } from "../../cuda-runtime/plan/precision.ts";
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

export interface BenchConfiguration extends Omit<RunReport, "outputs" | "steps" | "isFixed"> {
  /** `FP16 fixed`; `FP16, nothing to fix` where a repair was to be made and there was none. */
  readonly name: string;
  readonly model: string;
  /** What products were computed in; `model`: the types that are stored. */
  readonly precision: Precision;
  /** Whether the model was repaired in memory first; else it ran as it is. */
  readonly fixed: boolean;
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

/** What was asked to run. */
export type BenchedAs = Pick<BenchConfiguration, "name" | "model" | "precision" | "fixed">;

/** `asked`: in the order of the runs. */
export function benchReport(
  { device, driverVersion, runs }: RunsReport,
  asked: readonly BenchedAs[],
): BenchReport {
  const row = gpuOfDevice(device);
  return {
    gpu: device,
    row: row?.id,
    driver: `CUDA ${versionText(driverVersion)}`,
    configurations: runs.flatMap((run, index) => {
      const as = asked[index];
      return as === undefined ? [] : [{ ...asRun(as, run), ...configurationOf(run, row) }];
    }),
  };
}

/** What a run is called whose products are computed so, and whose model was to be repaired. */
export function nameOf(precision: string, fix: { readonly isFixed: boolean } | undefined): string {
  if (fix === undefined) return `${precision} as exported`;
  return fix.isFixed ? `${precision} fixed` : `${precision}, nothing to fix`;
}

/** What was asked, as it came about. */
function asRun(asked: BenchedAs, { isFixed }: RunReport): BenchedAs {
  if (!asked.fixed || isFixed) return asked;
  return { ...asked, name: nameOf(asked.precision.toUpperCase(), { isFixed }), fixed: false };
}

function configurationOf(run: RunReport, row: Gpu | undefined): Omit<BenchConfiguration, keyof BenchedAs> {
  const { outputs: _, isFixed: __, steps = [], ...rest } = run;
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
