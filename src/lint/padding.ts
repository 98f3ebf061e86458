/** @file Which larger sizes of a product's axes the cost model prefers to those it has. */
import type { Saving } from "../cost/model.ts";
import { goodEnough } from "../ir/axis.ts";
import { maxOf } from "../ir/lists.ts";
import type { ProductWork } from "../ops/work.ts";
import type { Workload } from "../workload/workload.ts";
import { AxisTargets } from "./axis-targets.ts";
import { type CostedProduct, type LintContext, scale } from "./context.ts";
import { type DecidedProduct, isOfKind } from "./decision.ts";
import { isOff, paddedSizes } from "./padding-sizes.ts";

export interface Axis<W extends ProductWork<number>> {
  readonly name: keyof W & string;
  readonly size: number;
  /** What its padded size goes into: the work's field by default, several for axes that grow together. */
  readonly fields?: readonly (keyof W & string)[];
  /** Copies of it in the field: `groups` for channels a group. */
  readonly copies?: number;
  /** The size that it gets where it gets another, a copy: other products have the axis as well. */
  readonly target?: number;
}

export interface Padding {
  /** New size by axis name; an axis that is better left alone keeps its size. */
  readonly sizes: ReadonlyMap<string, number>;
  readonly saves: Saving;
}

/**
 * What becomes of a product: the sizes that `--fix` gives it, else the best that it could have seen by itself. `all` are its
 * axes that may grow; those off the multiple are looked at where nothing is decided.
 */
export function paddingOf<W extends ProductWork<number>>(
  product: CostedProduct,
  work: W,
  all: readonly Axis<W>[],
  context: LintContext,
): Padding | undefined {
  const decided = context.decision?.paddedOf<W>(product, work.kind);
  if (decided !== undefined) return decidedPadding(decided, all);
  const multiple = context.alignment(work.dtype);
  const off = all.filter(({ size }) => isOff(size, multiple));
  if (off.length === 0) return undefined;
  const targets = AxisTargets.of(context);
  const axes = off.map((axis) => {
    const target = targets.targetOf(product, axis.fields?.[0] ?? axis.name);
    return target === undefined ? axis : { ...axis, target: target / (axis.copies ?? 1) };
  });
  const found = bestPadding(product, work, axes, context);
  // Of what a fix would do, and does not, the row is of that.
  const proposed = found && context.proposedFor(product);
  if (proposed === undefined || !isOfKind<W>(proposed, work.kind)) return found;
  const sizes = sizesOf(proposed, all);
  const grows = all.some(({ name, size }) => sizes.get(name) !== size);
  return grows ? decidedPadding({ work: proposed, saves: context.saving(product, proposed) }, all) : found;
}

function decidedPadding<W extends ProductWork<number>>(
  { work, saves }: DecidedProduct<W>,
  axes: readonly Axis<W>[],
): Padding | undefined {
  const sizes = sizesOf(work, axes);
  const grows = axes.some(({ name, size }) => sizes.get(name) !== size);
  return grows && saves.microseconds > 0 ? { sizes, saves } : undefined;
}

function sizesOf<W extends ProductWork<number>>(work: W, axes: readonly Axis<W>[]): Map<string, number> {
  return new Map(
    axes.map(({ name, size, fields, copies = 1 }): [string, number] => {
      const field = work[fields?.[0] ?? name];
      return [name, typeof field === "number" ? field / copies : size];
    }),
  );
}

/** Layers repeat: what was found for one is found for all that are like it. */
const known = new WeakMap<Workload, Map<string, Padding | undefined>>();

/**
 * The best sizes for some axes of a product, all combinations tried; undefined where none is predicted to gain.
 * Of sizes that save nearly the same, aligned ones first, then the smallest.
 */
export function bestPadding<W extends ProductWork<number>>(
  product: CostedProduct,
  work: W,
  axes: readonly Axis<W>[],
  context: LintContext,
): Padding | undefined {
  const cache = known.get(context.workload) ?? new Map<string, Padding | undefined>();
  known.set(context.workload, cache);
  const key = JSON.stringify([work, axes]);
  if (!cache.has(key)) cache.set(key, searchPadding(work, axes, context));
  const once = cache.get(key);
  return once && { sizes: once.sizes, saves: scale(once.saves, product.runs * context.measure([product])) };
}

/** For one run. */
function searchPadding<W extends ProductWork<number>>(
  work: W,
  axes: readonly Axis<W>[],
  context: LintContext,
): Padding | undefined {
  const multiple = context.alignment(work.dtype);
  const choices = axes.map(({ size, target }) => [
    size,
    ...(target === undefined ? paddedSizes(size, multiple) : [target]),
  ]);
  const tried = combinations(choices).map((sizes) => ({
    sizes,
    volume: sizes.reduce((total, size) => total * size, 1),
    misaligned: sizes.filter((size) => size % multiple !== 0).length,
    saves: context.savingOf([work], [resized(work, axes, sizes)]),
  }));
  const most = maxOf(tried.map(({ saves }) => saves.microseconds));
  if (!(most > 0)) return undefined;
  const good = tried.filter(({ saves }) => saves.microseconds >= most * goodEnough);
  const best = good.reduce((a, b) => ((b.misaligned - a.misaligned || b.volume - a.volume) < 0 ? b : a));
  return {
    sizes: new Map(axes.map(({ name, size }, index) => [name, best.sizes[index] ?? size])),
    saves: best.saves,
  };
}

/** The work with other sizes for some axes. */
export function resized<W extends ProductWork<number>>(
  work: W,
  axes: readonly Axis<W>[],
  sizes: readonly number[],
): W {
  const changes = axes.flatMap(({ name, size, fields, copies = 1 }, index) =>
    (fields ?? [name]).map((field) => [field, (sizes[index] ?? size) * copies]),
  );
  return { ...work, ...Object.fromEntries(changes) };
}

function combinations(choices: readonly (readonly number[])[]): number[][] {
  let all: number[][] = [[]];
  for (const sizes of choices) all = all.flatMap((chosen) => sizes.map((size) => [...chosen, size]));
  return all;
}

type Named = { readonly name: string; readonly size: number };

/** `inputs from 67 to 72 and outputs from 129 to 136`: the axes that change. */
export function describePadding(
  padding: Padding,
  axes: readonly Named[],
  words: Readonly<Record<string, string>>,
): string {
  return describeAxes(padding, axes, words, (padded) => ` to ${padded}`);
}

/** `inputs from 67 and outputs from 129`: what equal sizes have in common, whichever neighbours decide what they are padded to. */
export function describeOff(
  padding: Padding,
  axes: readonly Named[],
  words: Readonly<Record<string, string>>,
): string {
  return describeAxes(padding, axes, words, () => "");
}

function describeAxes(
  padding: Padding,
  axes: readonly Named[],
  words: Readonly<Record<string, string>>,
  to: (padded: number) => string,
): string {
  return axes
    .flatMap(({ name, size }) => {
      const padded = padding.sizes.get(name) ?? size;
      return padded === size ? [] : [`${words[name] ?? name} from ${size}${to(padded)}`];
    })
    .join(" and ");
}
