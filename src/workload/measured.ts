/**
 * @file Kernels whose time was measured: what stands in for the cost model's estimate, and what that makes of the kernel after a change.
 *
 * A measured kernel keeps the ratio of its time to its prediction: the same kernel with other sizes, in another precision or layout is
 * predicted to take so many times what the cost model says. What was measured itself has no interval.
 */

import type { Estimate } from "../cost/model.ts";
import { scaledEstimate } from "../cost/scaled.ts";
import type { Step } from "./timeline.ts";

/** What the time of a measured kernel was predicted to be. */
export interface Measured {
  /** Microseconds that the cost model in use says of one run of what was measured: with this price, it is that. */
  readonly price: number;
  /** What was said before anything was measured: of all runs. */
  readonly predicted: number;
  /** Set where an account of the stack's own said it, in place of the cost model. */
  readonly isPlanned?: true;
}

/** A kernel's estimate where the cost model's own is `own`. */
export function asMeasured(
  { factor = 1, measured }: Pick<Step, "factor" | "measured">,
  own: Estimate,
): Estimate {
  if (factor === 1 && measured === undefined) return own;
  const scaled = scaledEstimate(own, factor);
  if (measured?.price !== own.microseconds) return scaled;
  return { ...scaled, low: scaled.microseconds, high: scaled.microseconds };
}

/** What its measured time is to the cost model's; 1 where nothing was measured. */
export function measuredFactor({ factor = 1, measured }: Pick<Step, "factor" | "measured">): number {
  return measured === undefined ? 1 : factor;
}

/** Whether every time is measured, and none a prediction from what was. */
export function isMeasured(steps: readonly Step[]): boolean {
  return (
    steps.length > 0 &&
    steps.every(({ measured, estimate: { low, high } }) => measured !== undefined && low === high)
  );
}
