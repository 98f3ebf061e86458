/** @file How far the share of the time that products on Tensor Cores take may be off. */
import type { Range } from "../cost/calibration.ts";
import { type Step, type Timeline, tensorPartOf } from "./timeline.ts";

/**
 * Shares from `low` to `high`: one part of the time at one end of its interval, the rest at the other. Both at once are rarer than one
 * case of ten, so that the truth lies between in more than nine of ten.
 */
export function tensorCoreRange({ steps }: Timeline): Range {
  const on = endsOf(steps, tensorPartOf);
  const off = endsOf(steps, (step) => 1 - tensorPartOf(step));
  const share = (part: number, rest: number) => (part > 0 ? part / (part + Math.max(0, rest)) : 0);
  return { low: share(on.low, off.high), high: share(on.high, off.low) };
}

/** A part of each kernel's time, added up as that of whole kernels is. */
function endsOf(steps: readonly Step[], partOf: (step: Step) => number): Range {
  let [low, high] = [0, 0];
  for (const step of steps) {
    const { microseconds, estimate, runs } = step;
    const part = partOf(step);
    low += part * (microseconds - (estimate.microseconds - estimate.low) * runs);
    high += part * (microseconds + (estimate.high - estimate.microseconds) * runs);
  }
  return { low, high };
}
