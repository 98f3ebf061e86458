/**
 * @file What is known of whole runs where a stack's own planner prices them: errors of kernels cancel in a run, and prices of a format are off one way, neither of
 * which intervals of the cost model's kernels say.
 */
import type { Range } from "../cost/calibration.ts";
import type { Saving } from "../cost/model.ts";
import { computeTypeOn } from "../cost/precision.ts";
import { savingByRatio } from "../cost/saving.ts";
import type { ComputeType, Target } from "../hardware/target.ts";
import { maxOf } from "../ir/lists.ts";
import type { StepChange } from "./change.ts";
import type { Step } from "./timeline.ts";
import type { Workload } from "./workload.ts";

type Formats = Readonly<Partial<Record<ComputeType, Range>>>;

/** ln(measured / predicted) lies between `low` and `high` in nine runs of ten. */
export interface WholeRuns {
  /** By what its kernels compute in. */
  readonly runs: Formats;
  /** Of what is left of a run, after / before, where its kernels come from FP32 to a format. */
  readonly fromFp32: Formats;
}

/** Of a run's time: one that is mostly one kernel is as unsure as that. */
const mostOfOne = 0.5;

/** Of a run's time: less that comes to a format is no whole run. */
const leastBrought = 0.5;

/** Microseconds that a run may take less, and more, than its steps come to; undefined where runs like it were not measured. */
export function widthsOfRun(
  steps: readonly Step[],
  runs: Formats,
  target: Target,
): { readonly below: number; readonly above: number } | undefined {
  if (!isOfMany(steps)) return undefined;
  let [isKnown, below, above] = [false, 0, 0];
  for (const step of steps) {
    const range = rangeOf(step, runs, target);
    isKnown ||= range !== undefined;
    const { low, high } = range ?? rangeOfKernel(step);
    below -= step.microseconds * Math.expm1(low);
    above += step.microseconds * Math.expm1(high);
  }
  return isKnown ? { below, above } : undefined;
}

function isOfMany(steps: readonly Step[]): boolean {
  const times = steps.map(({ microseconds }) => microseconds);
  const whole = times.reduce((sum, time) => sum + time, 0);
  return maxOf(times) <= mostOfOne * whole;
}

function rangeOf(step: Step, runs: Formats, target: Target): Range | undefined {
  const format = formatOf(step, target);
  return format && runs[format];
}

function rangeOfKernel({ estimate: { microseconds, low, high } }: Step): Range {
  return microseconds > 0
    ? { low: Math.log(low / microseconds), high: Math.log(high / microseconds) }
    : { low: 0, high: 0 };
}

/** What changes save together that bring most of a run from FP32 to a format, or the other way round; undefined of others. */
export function savedByFormat(
  steps: readonly StepChange[],
  before: Workload,
  after: Workload,
): Saving | undefined {
  const forward = savedFromFp32(steps, before, after);
  if (forward !== undefined) return forward;
  const turned = steps.map((step) => ({ before: step.after, after: step.before }));
  const back = savedFromFp32(turned, after, before);
  return back && { microseconds: -back.microseconds, low: -back.high, high: -back.low };
}

type Sides = Pick<StepChange, "before" | "after">;

function savedFromFp32(
  steps: readonly Sides[],
  { timeline, target }: Workload,
  after: Workload,
): Saving | undefined {
  const known = timeline.planned?.wholeRuns;
  const run = known?.runs.fp32;
  if (known === undefined || run === undefined || after.timeline.planned === undefined) return undefined;
  if (!isOfMany(timeline.steps)) return undefined;
  let [from, to] = [0, 0];
  const brought = new Map<ComputeType, number>();
  for (const step of steps) {
    from += step.before?.microseconds ?? 0;
    to += step.after?.microseconds ?? 0;
    if (step.before === undefined || step.after === undefined) continue;
    if (formatOf(step.before, target) !== "fp32") continue;
    const format = formatOf(step.after, after.target);
    if (format !== undefined) brought.set(format, (brought.get(format) ?? 0) + step.before.microseconds);
  }
  const isMost = (format: ComputeType) => (brought.get(format) ?? 0) >= leastBrought * timeline.microseconds;
  const ratio = [...brought.keys()].filter(isMost).flatMap((format) => known.fromFp32[format] ?? [])[0];
  return ratio && savingByRatio({ before: from, after: to }, ratio, { below: -run.low, above: run.high });
}

/** What it computes in, or passes on; undefined of what no measured run had: weights of fewer bits, and work that data decides. */
function formatOf({ work }: Step, target: Target): ComputeType | undefined {
  const isOther =
    (work.kind === "gemm" && work.weightBits !== undefined) ||
    (work.kind === "traffic" && work.mostOperations !== undefined);
  return isOther ? undefined : computeTypeOn(work.dtype, target);
}
