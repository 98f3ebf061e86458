/** @file Pairs of samples that differ by one change: padding, another number format, another layout. */
import { push } from "../../src/ir/group.ts";
import type { ConvWork, Work } from "../../src/ops/work.ts";
import { identity, type Sample } from "./data.ts";

export type PairKind = "padding" | "precision" | "layout";

/** Indices of samples. */
export interface Pair {
  readonly before: number;
  readonly after: number;
  readonly kind: PairKind;
  /** Of padding one axis, or the one size that several share, "n,k"; else "". */
  readonly axes: string;
  /** Of padding: the smaller size is no multiple of 8. */
  readonly misaligned: boolean;
  /** Measured as a change, the two sides in turn. */
  readonly asChange: boolean;
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
  const pairs = new Map<string, Pair>();
  const found = [...changesOf(samples), ...paddingsOf(samples), ...formatsOf(samples), ...layoutsOf(samples)];
  for (const pair of found) {
    const key = `${pair.before} ${pair.after}`;
    const known = pairs.get(key);
    pairs.set(key, known === undefined ? pair : { ...pair, asChange: known.asChange });
  }
  return [...pairs.values()];
}

/** What was measured as a change, as far as both sides are of one family. */
function changesOf(samples: readonly Sample[]): Pair[] {
  const before = new Map<string, number>();
  for (const [index, { change, family }] of samples.entries())
    if (change?.side === "before") before.set(`${family} ${change.id}`, index);
  return samples.flatMap(({ change, family }, after) => {
    const from = change?.side === "after" ? before.get(`${family} ${change.id}`) : undefined;
    const sample = from === undefined ? undefined : samples[from];
    if (from === undefined || sample === undefined) return [];
    const kind = kindOf(sample, samples[after] ?? sample);
    return [{ before: from, after, kind, axes: "", misaligned: false, asChange: true }];
  });
}

function kindOf(before: Sample, after: Sample): PairKind {
  if (before.precision !== after.precision || before.work.dtype !== after.work.dtype) return "precision";
  const isConv = (work: Work<number>): work is ConvWork<number> => work.kind === "conv";
  const [from, to] = [before.work, after.work];
  return isConv(from) && isConv(to) && from.layout !== to.layout ? "layout" : "padding";
}

function paddingsOf(samples: readonly Sample[]): Pair[] {
  const groups = new Map<string, { size: number; index: number }[]>();
  for (const [index, sample] of samples.entries()) {
    const sizes = new Map(Object.entries(sample.work));
    for (const axes of paddedAxes[sample.work.kind]) {
      const size = sizes.get(axes[0] ?? "");
      if (typeof size !== "number" || axes.some((axis) => sizes.get(axis) !== size)) continue;
      const rest = { ...sample.work, ...Object.fromEntries(axes.map((axis) => [axis, null])) };
      push(groups, `${axes.join()} ${identity({ ...sample, work: rest })}`, { size, index });
    }
  }
  return [...groups].flatMap(([key, group]) => neighbours(key.split(" ")[0] ?? "", group));
}

/** `after` has the larger size, at most double, and a multiple of 8. */
function neighbours(axes: string, group: readonly { size: number; index: number }[]): Pair[] {
  return group.flatMap((before) =>
    group
      .filter((after) => after.size > before.size && after.size <= 2 * before.size && after.size % 8 === 0)
      .map((after) => ({
        before: before.index,
        after: after.index,
        kind: "padding",
        axes,
        misaligned: before.size % 8 !== 0,
        asChange: false,
      })),
  );
}

/** Ways to compute what a model stores in FP32, the slowest first. */
const formats = ["float32 as-is", "float32 tf32", "float16 as-is"];

function formatsOf(samples: readonly Sample[]): Pair[] {
  const rankOf = ({ work, precision }: Sample) => formats.indexOf(`${work.dtype} ${precision}`);
  const withoutFormat = ({ work, ...sample }: Sample) => {
    const bytes = work.kind === "traffic" ? { bytesRead: 0, bytesWritten: 0 } : {};
    return identity({ ...sample, work: { ...work, ...bytes, dtype: "float16" }, precision: "as-is" });
  };
  return pairsBy(samples, "precision", rankOf, withoutFormat);
}

function layoutsOf(samples: readonly Sample[]): Pair[] {
  const rankOf = ({ work }: Sample) => (work.kind === "conv" ? ["nchw", "nhwc"].indexOf(work.layout) : -1);
  const withoutLayout = (sample: Sample) =>
    identity({ ...sample, work: { ...sample.work, ...{ layout: "nhwc" } } });
  return pairsBy(samples, "layout", rankOf, withoutLayout);
}

/** Samples that are alike but for a rank, from each lower to each higher one; those below 0 have none. */
function pairsBy(
  samples: readonly Sample[],
  kind: PairKind,
  rankOf: (sample: Sample) => number,
  keyOf: (sample: Sample) => string,
): Pair[] {
  const groups = new Map<string, { rank: number; index: number }[]>();
  for (const [index, sample] of samples.entries()) {
    const rank = rankOf(sample);
    if (rank >= 0) push(groups, keyOf(sample), { rank, index });
  }
  return [...groups.values()].flatMap((group) =>
    group.flatMap((before) =>
      group
        .filter((after) => after.rank > before.rank)
        .map((after) => ({
          before: before.index,
          after: after.index,
          kind,
          axes: "",
          misaligned: false,
          asChange: false,
        })),
    ),
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
