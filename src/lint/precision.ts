/** @file What a change of precision does to a step's time. */
import type { Saving } from "../cost/model.ts";
import type { Precision } from "../hardware/target.ts";
import { maxOf, minOf } from "../ir/lists.ts";
import type { Step } from "../workload/timeline.ts";
import type { LintContext } from "./context.ts";

/** All runs of a step. The model's error at one precision is its error at the other: the interval scales along. */
export function stepSavingAt(step: Step, from: Precision, to: Precision, context: LintContext): Saving {
  const before = context.estimateAt(step.work, from);
  const after = context.estimateAt(step.work, to);
  const microseconds = (before.microseconds - after.microseconds) * step.runs;
  const bounds = [before.low, before.high].map((bound) => (microseconds * bound) / before.microseconds);
  return { microseconds, low: minOf(bounds), high: maxOf(bounds) };
}

/** All of a step's time, as what is saved by not running it. */
export function stepTimeAt(step: Step, precision: Precision, context: LintContext): Saving {
  const { microseconds, low, high } = context.estimateAt(step.work, precision);
  return { microseconds: microseconds * step.runs, low: low * step.runs, high: high * step.runs };
}
