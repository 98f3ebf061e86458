/** @file Pairs of samples that differ by padding: one axis, or the one size that several axes share. */
import type { Work } from "../../src/ops/work.ts";
import { identity, type Sample } from "./data.ts";

/** Indices of samples; `after` has the larger size, at most double, and a multiple of 8. */
export interface Pair {
  readonly before: number;
  readonly after: number;
  /** "n,k" */
  readonly axes: string;
  /** The smaller size is no multiple of 8. */
  readonly misaligned: boolean;
}

/** Axes that grow together; they must hold the same size. */
const paddedAxes: Readonly<Record<Work["kind"], readonly (readonly string[])[]>> = {
  gemm: [["k"], ["n"], ["m"], ["n", "k"]],
  conv: [["channels"], ["filters"], ["channels", "filters"], ["channels", "filters", "groups"]],
  attention: [["headDim", "valueHeadDim"]],
  recurrent: [["hiddenSize"], ["inputSize"]],
  traffic: [],
};

export function pairsOf(samples: readonly Sample[]): Pair[] {
  const groups = new Map<string, { size: number; index: number }[]>();
  for (const [index, sample] of samples.entries()) {
    const sizes = new Map(Object.entries(sample.work));
    for (const axes of paddedAxes[sample.work.kind]) {
      const size = sizes.get(axes[0] ?? "");
      if (typeof size !== "number" || axes.some((axis) => sizes.get(axis) !== size)) continue;
      const rest = { ...sample.work, ...Object.fromEntries(axes.map((axis) => [axis, null])) };
      const key = `${axes.join()} ${identity({ ...sample, work: rest })}`;
      const group = groups.get(key);
      if (group === undefined) groups.set(key, [{ size, index }]);
      else group.push({ size, index });
    }
  }
  return [...groups].flatMap(([key, group]) => neighbours(key.split(" ")[0] ?? "", group));
}

function neighbours(axes: string, group: readonly { size: number; index: number }[]): Pair[] {
  return group.flatMap((before) =>
    group
      .filter((after) => after.size > before.size && after.size <= 2 * before.size && after.size % 8 === 0)
      .map((after) => ({
        before: before.index,
        after: after.index,
        axes,
        misaligned: before.size % 8 !== 0,
      })),
  );
}

/** A number for each sample; those that share a pair, directly or over others, share it. */
export function clustersOf(count: number, pairs: readonly Pick<Pair, "before" | "after">[]): number[] {
  const parent = Array.from({ length: count }, (_, index) => index);
  const root = (index: number): number => {
    let at = index;
    while ((parent[at] ?? at) !== at) at = parent[at] ?? at;
    return at;
  };
  for (const { before, after } of pairs) parent[root(before)] = root(after);
  return parent.map((_, index) => root(index));
}
