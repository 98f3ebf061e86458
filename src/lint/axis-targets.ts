/**
 * @file One size for an axis that several products have: what one writes the next reads, so that both are told to pad it to the same. Where
 * a product is grouped, whole groups grow.
 */

import { goodEnough } from "../ir/axis.ts";
import { maxOf, pushAll } from "../ir/lists.ts";
import type { Node, Value } from "../ir/model.ts";
import type { ProductWork } from "../ops/work.ts";
import type { CostedProduct, LintContext } from "./context.ts";
import { ProductIndex } from "./graph.ts";
import { type ProductEnd as End, Neighbours, type Side } from "./neighbours.ts";
import { paddedSizes } from "./padding-sizes.ts";

const known = new WeakMap<LintContext, AxisTargets>();

export class AxisTargets {
  readonly #context: LintContext;
  readonly #index: ProductIndex;
  readonly #neighbours = new Map<CostedProduct["scope"], Neighbours>();
  /** By the product and its side. */
  readonly #targets = new Map<CostedProduct, Partial<Record<Side, number | null>>>();

  static of(context: LintContext): AxisTargets {
    const made = known.get(context) ?? new AxisTargets(context);
    known.set(context, made);
    return made;
  }

  private constructor(context: LintContext) {
    this.#context = context;
    this.#index = ProductIndex.of(context.products);
  }

  /** Of a field of the product's work; undefined where no other product has a part in it. */
  targetOf(product: CostedProduct, field: string): number | undefined {
    const side = sideOf(field);
    if (side === undefined) return undefined;
    const before = this.#targets.get(product)?.[side];
    if (before !== undefined) return before ?? undefined;
    const ends = this.#endsOf({ product, side });
    const target = this.#chosen(ends, sizeAt({ product, side })) ?? null;
    for (const end of ends)
      this.#targets.set(end.product, { ...this.#targets.get(end.product), [end.side]: target });
    return target ?? undefined;
  }

  /** All that write or read the axis, whatever keeps its elements apart in between. */
  #endsOf(start: End): readonly End[] {
    const size = sizeAt(start);
    if (size === undefined) return [start];
    const near = this.#near(start.product.scope);
    const ends: End[] = [];
    const seen = new Map<CostedProduct, Set<Side>>();
    const gone = new Set<Value | Node>();
    const pending = [start];
    for (let end = pending.pop(); end !== undefined; end = pending.pop()) {
      const sides = seen.get(end.product) ?? new Set<Side>();
      seen.set(end.product, sides);
      if (sides.has(end.side) || sizeAt(end) !== size) continue;
      sides.add(end.side);
      ends.push(end);
      pushAll(pending, besides(end, near));
      pushAll(pending, near.around(end.product.node, end.side, size, gone));
    }
    return ends;
  }

  /** All that is tied lies in one instance of a graph. */
  #near(scope: CostedProduct["scope"]): Neighbours {
    const near = this.#neighbours.get(scope) ?? new Neighbours(scope, this.#index);
    this.#neighbours.set(scope, near);
    return near;
  }

  #chosen(ends: readonly End[], size: number | undefined): number | undefined {
    const parts = ends.filter(({ product: { sizes } }) => !isDepthwise(sizes));
    const [first] = parts;
    if (first === undefined || size === undefined || parts.length < 2) return undefined;
    for (const end of parts) {
      const decided = this.#decidedAt(end);
      if (decided !== undefined && decided > size) return decided;
    }
    const copies = parts.reduce((all, { product: { sizes } }) => leastCommon(all, groupsOf(sizes)), 1);
    const each = size % copies === 0 ? copies : 1;
    const multiple = this.#context.alignment(first.product.sizes.dtype);
    const candidates = paddedSizes(size / each, multiple);
    return this.#best(parts, candidates, multiple, each);
  }

  /** Of sizes that save nearly the same in all products together, aligned ones first, then the smallest. */
  #best(
    ends: readonly End[],
    candidates: readonly number[],
    multiple: number,
    copies: number,
  ): number | undefined {
    const tried = candidates.map((each) => ({
      size: each * copies,
      isAligned: each % multiple === 0,
      saves: this.#savedBy(ends, each * copies),
    }));
    const most = maxOf(tried.map(({ saves }) => saves));
    const good = most > 0 ? tried.filter(({ saves }) => saves >= most * goodEnough) : tried;
    return (good.find(({ isAligned }) => isAligned) ?? good[0])?.size;
  }

  #savedBy(ends: readonly End[], size: number): number {
    let saved = 0;
    const once = new Map<string, number>();
    for (const { product, side } of ends) {
      const { sizes, runs } = product;
      const key = `${side}${JSON.stringify(sizes)}`;
      const wider = { ...sizes, [fieldOf(sizes, side)]: size };
      const each = once.get(key) ?? this.#context.savingOf([sizes], [wider]).microseconds;
      once.set(key, each);
      saved += each * runs;
    }
    return saved;
  }

  #decidedAt({ product, side }: End): number | undefined {
    const decided = this.#context.decision?.paddedOf(product, product.sizes.kind);
    return decided && numberAt(decided.work, side);
  }
}

/** Ends of the same axis next to one; a depthwise product has it on both sides. */
function besides({ product, side }: End, near: Neighbours): End[] {
  const { node } = product;
  const others =
    side === "in"
      ? near.before(node).map((other): End => ({ product: other, side: "out" }))
      : near.behind(node).map((other): End => ({ product: other, side: "in" }));
  if (!isDepthwise(product.sizes)) return others;
  return [...others, { product, side: side === "in" ? "out" : "in" }];
}

function sideOf(field: string): Side | undefined {
  if (field === "channels" || field === "k") return "in";
  return field === "filters" || field === "n" ? "out" : undefined;
}

function fieldOf({ kind }: ProductWork<number>, side: Side): string {
  if (kind === "conv") return side === "in" ? "channels" : "filters";
  return side === "in" ? "k" : "n";
}

function sizeAt({ product, side }: End): number | undefined {
  return numberAt(product.sizes, side);
}

/** Undefined of what is neither a convolution nor a product of matrices. */
function numberAt(work: ProductWork<number>, side: Side): number | undefined {
  if (work.kind === "conv") return side === "in" ? work.channels : work.filters;
  if (work.kind === "gemm") return side === "in" ? work.k : work.n;
  return undefined;
}

function groupsOf(work: ProductWork<number>): number {
  return work.kind === "conv" ? work.groups : 1;
}

/** Every channel by itself: it has no part in how wide the axis is best. */
function isDepthwise(work: ProductWork<number>): boolean {
  return (
    work.kind === "conv" && work.groups > 1 && work.groups === work.channels && work.groups === work.filters
  );
}

function leastCommon(a: number, b: number): number {
  let [x, y] = [a, b];
  while (y !== 0) [x, y] = [y, x % y];
  return (a / x) * b;
}
