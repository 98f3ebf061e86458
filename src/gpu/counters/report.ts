/** @file Counters of each step beside what the plan says of it, ready for JSON. */
import type { DeviceInfo } from "../../../cuda-runtime/driver/driver.ts";
import type { Times } from "../../../cuda-runtime/session/timing.ts";
import type { Gpu } from "../../hardware/gpu.ts";
import { promisedBy } from "../../hardware/machine.ts";
import { InputError } from "../../ir/errors.ts";
import { counted } from "../../ir/format.ts";
import type { BenchConfiguration, BenchReport } from "../bench-report.ts";
import type { CountedStep } from "../protocol.ts";
import type { CountedLaunch } from "./csv.ts";
import { stepMetrics } from "./metrics.ts";
import type { Counted } from "./ncu.ts";

/** Null is what ncu did not give. Shares are of 1. */
export interface StepCounters {
  /** Under the profiler, launches one at a time. */
  readonly microseconds: number;
  readonly clocks: number | null;
  /** Of the clocks, those in which Tensor Cores were at work. */
  readonly tensorActive: number | null;
  readonly dramActive: number | null;
  readonly dramBytes: number | null;
  /** Of warps. */
  readonly instructions: number | null;
  /** By pipe, of all instructions. */
  readonly mix: Readonly<Record<string, number>>;
}

export interface CountersStep extends CountedStep {
  /** As `bench` times it: by replays of a graph, nobody watching. */
  readonly times: Times;
  /** Null for what is no kernel, such as memory that is cleared. */
  readonly counters: StepCounters | null;
  /** Of the clocks, those that Tensor Cores need for the operator's FLOP at their peak; null without a row for the GPU. */
  readonly tensorNeeded: number | null;
}

export interface CountersReport {
  readonly model: string;
  /** `FP16 fixed`. */
  readonly name: string;
  readonly gpu: DeviceInfo;
  readonly row: string | undefined;
  readonly driver: string;
  readonly sizes: Readonly<Record<string, number>>;
  /** Whole runs, as `bench` times them. */
  readonly times: Times | undefined;
  readonly steps: readonly CountersStep[];
  /** Metrics that ncu does not have for this GPU. */
  readonly absent: readonly string[];
  /** Of the profiled time, steps weighted by theirs. */
  readonly tensorActive: number | null;
  readonly tensorNeeded: number | null;
  /** Of the time that `bench` measures, what kernels with Tensor Core instructions take. */
  readonly tensorCoreShare: number | undefined;
}

/** Throws InputError `ncu-launches` where ncu saw something else than the plan launches. */
export function countersReport(
  bench: BenchReport,
  configuration: BenchConfiguration,
  { run, launches, absent }: Counted,
  { row, mix }: { readonly row: Gpu | undefined; readonly mix: Readonly<Record<string, string>> },
): CountersReport {
  const rows = matched(run.steps, launches);
  const steps = run.steps.map((step, index): CountersStep => {
    const times = configuration.steps[index]?.times;
    if (times === undefined) throw new Error("tc-lint bug: a step that was counted was not timed");
    const launch = rows[index];
    const counters = launch === undefined ? null : countersOf(launch, mix);
    return { ...step, times, counters, tensorNeeded: neededOf(step, counters?.clocks ?? null, row) };
  });
  const { model, name, times, tensorCoreShare } = configuration;
  const { gpu, driver } = bench;
  return {
    ...{ model, name, gpu, row: row?.id, driver, sizes: run.sizes, times, steps, absent },
    tensorActive: weighted(steps, ({ counters }) => counters?.tensorActive ?? null),
    tensorNeeded: weighted(steps, (step) => step.tensorNeeded),
    tensorCoreShare,
  };
}

/** By step, in the order in which both have them; undefined for what is no kernel. Throws InputError `ncu-launches`. */
export function matched(
  steps: readonly Pick<CountedStep, "entry" | "label">[],
  launches: readonly CountedLaunch[],
): (CountedLaunch | undefined)[] {
  let next = 0;
  const rows = steps.map(({ entry, label }) => {
    if (entry === null) return undefined;
    const launch = launches[next++];
    const found = launch?.kernel.split(/[<(]/)[0]?.trim();
    if (launch === undefined || found !== entry) {
      const seen = found === undefined ? "nothing more" : `"${found}"`;
      throw mismatch(`launch ${next} is ${seen}, where the plan has "${entry}" (${label})`);
    }
    return launch;
  });
  if (next < launches.length)
    throw mismatch(`it counted ${counted(launches.length, "launch", "launches")}, the plan has ${next}`);
  return rows;
}

function mismatch(what: string): InputError {
  return new InputError("ncu-launches", `ncu saw something else than the plan launches: ${what}`);
}

/** Of one launch. Throws InputError `ncu-output` where it has no time. */
export function countersOf(
  { kernel, values }: CountedLaunch,
  mix: Readonly<Record<string, string>>,
): StepCounters {
  const of = (name: string) => values.get(name) ?? null;
  const share = (name: string) => {
    const percent = of(name);
    return percent === null ? null : percent / 100;
  };
  const nanoseconds = of(stepMetrics.duration);
  if (nanoseconds === null) throw new InputError("ncu-output", `ncu gives no time of "${kernel}"`);
  const instructions = of(stepMetrics.instructions);
  const shares = Object.entries(mix).flatMap(([pipe, name]): [string, number][] => {
    const count = of(name);
    return count === null || !instructions ? [] : [[pipe, count / instructions]];
  });
  return {
    microseconds: nanoseconds / 1000,
    clocks: of(stepMetrics.clocks),
    tensorActive: share(stepMetrics.tensorActive),
    dramActive: share(stepMetrics.dramActive),
    dramBytes: of(stepMetrics.dramBytes),
    instructions,
    mix: Object.fromEntries(shares),
  };
}

function neededOf(
  { tensor, compute, flops }: CountedStep,
  clocks: number | null,
  row: Gpu | undefined,
): number | null {
  if (tensor === null || flops === 0) return clocks === null ? null : 0;
  if (compute === "fp32" || compute === "fp64" || row === undefined || clocks === null) return null;
  const promised = promisedBy(row);
  const rate = promised.tensor(compute);
  // FLOP in a microsecond over clocks in a microsecond: of the whole GPU in a clock.
  return rate === undefined ? null : flops / ((rate / promised.clocks) * clocks);
}

/** Over the steps that have it; null where a step of a kernel has none. */
function weighted(steps: readonly CountersStep[], of: (step: CountersStep) => number | null): number | null {
  let [sum, time] = [0, 0];
  for (const step of steps) {
    if (step.counters === null) continue;
    const value = of(step);
    if (value === null) return null;
    sum += value * step.counters.microseconds;
    time += step.counters.microseconds;
  }
  return time === 0 ? null : sum / time;
}
