/**
 * @file Predicted times kept by what they depend on: a network asks for one product in layer after layer, and again in each state of its repair, and a
 * choice computes hundreds of them.
 */
import type { PlanTarget } from "../ir/step.ts";

/** Of one size on one GPU, by row and splits: computed where it is not known. Microseconds. */
export type TimesOfSize<Row> = (row: Row, splits: number, compute: () => number) => number;

/** Sizes of a GPU that are kept: some 4 KB each. When there are as many, all are forgotten. */
const mostSizes = 1000;

/** Of one family of kernels. `size` is text that tells apart whatever has other times. */
export function keptTimes<Row>(): (target: PlanTarget, size: string) => TimesOfSize<Row> {
  const targets = new WeakMap<PlanTarget, Map<string, Map<Row, number[]>>>();
  return (target, size) => {
    const sizes = targets.get(target) ?? new Map<string, Map<Row, number[]>>();
    targets.set(target, sizes);
    if (sizes.size >= mostSizes && !sizes.has(size)) sizes.clear();
    const rows = sizes.get(size) ?? new Map<Row, number[]>();
    sizes.set(size, rows);
    return (row, splits, compute) => {
      const known = rows.get(row) ?? [];
      rows.set(row, known);
      const microseconds = known[splits] ?? compute();
      known[splits] = microseconds;
      return microseconds;
    };
  };
}
