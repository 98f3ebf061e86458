/** @file How a product's outputs lie side by side. */
import type { Problem, Target } from "./problem.ts";

/** How many elements of a row, from a multiple of their number on, can be stored (and read of a residual) at once. */
export function neighboursOf({ n, d, residual }: Problem): 1 | 2 | 8 {
  const targets = residual === undefined ? [d] : [d, residual];
  if (n % 8 === 0 && targets.every((target) => isGrouped(target, 8))) return 8;
  return targets.every((target) => isGrouped(target, 2)) ? 2 : 1;
}

function isGrouped({ view, m, n, batch }: Target, count: number): boolean {
  return n === 1 && [view.offset, m, ...batch].every((step) => step % count === 0);
}

/** Right-aligned, as kernels count through batch axes. */
export function threeOf(values: readonly number[], fill: number): number[] {
  if (values.length > 3) throw new Error("tc-lint bug: more than three batch axes");
  return [...new Array<number>(3 - values.length).fill(fill), ...values];
}
