/** @file What keeps a row without variance from being divided by zero. */
import { type Lane, type LaneContext, unknownLane } from "../axes.ts";
import { finiteLanes, normalized } from "../lanes.ts";
import type { OpContext } from "../op.ts";
import { tensorAt } from "../shape.ts";

/** Far above the smallest normal float, whose root's inverse is still small beside the largest. */
const leastFloat = 1e-20;
/** Half the smallest half: anything less is 0 where a kernel computes in halves. */
const leastHalf = 2 ** -24;

/** Whether `value`, a variance with its epsilon, is certain to be a divisor in the type of input 0. */
export function isDivisor(context: OpContext, value: number): boolean {
  return value >= (tensorAt(context, 0).dtype === "float16" ? leastHalf : leastFloat);
}

/** The attribute `epsilon`; `fallback` is the operator's default. */
export function epsilonOf(context: OpContext, fallback = 1e-5): number {
  return context.float("epsilon") ?? fallback;
}

/** Rows divided by the root of their variance and epsilon: a padded row has no variance. */
export function normalizedLanes(context: LaneContext): Lane {
  return isDivisor(context, epsilonOf(context)) ? normalized(finiteLanes(context)) : unknownLane;
}
