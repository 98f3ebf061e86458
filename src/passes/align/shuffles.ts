/**
 * @file Channel shuffles: Reshape, Transpose, Reshape that only put one axis in another order.
 *
 * As factors of one merge they would tie every part that is concatenated before a shuffle to every part that is cut out
 * after it. Written as one Gather they tie nothing: any layout goes in, any comes out.
 */
import type { Scope } from "../../facts/scope.ts";
import type { Axis, PaddedSizes } from "../../ir/axis.ts";
import { indexMap } from "../../ir/axis-runs.ts";
import { type Shape, sameDim } from "../../ir/dim.ts";
import type { Node, Value } from "../../ir/model.ts";
import { isOp, permutationOf } from "../../ops/ask.ts";
import { numbersOf } from "../../ops/shape.ts";

export interface Shuffle {
  readonly nodes: readonly [first: Node, transpose: Node, last: Node];
  /** What goes in. */
  readonly data: Value;
  readonly axis: number;
  /** For each position of the result the position that goes in. */
  readonly order: readonly number[];
}

/** A shuffle and its axis, before and after. */
export interface RelatedShuffle extends Shuffle {
  readonly from: Axis;
  readonly to: Axis;
}

/** Longer axes are left to the algebra. */
const maxShuffled = 65_536;

/** By node. */
export function shufflesOf(scope: Scope): ReadonlyMap<Node, Shuffle> {
  const shuffles = new Map<Node, Shuffle>();
  for (const last of scope.graph.nodes) {
    const shuffle = shuffleEndingAt(last, scope);
    // A Reshape between two of them belongs to the first.
    if (shuffle === undefined || shuffle.nodes.some((node) => shuffles.has(node))) continue;
    for (const node of shuffle.nodes) shuffles.set(node, shuffle);
  }
  return shuffles;
}

/** The shuffle that a Reshape ends; undefined for any other node. */
function shuffleEndingAt(last: Node, scope: Scope): Shuffle | undefined {
  const transpose = soleProducer(last, "Reshape", scope);
  const first = transpose && soleProducer(transpose, "Transpose", scope);
  const data = first && isOp(first, "Reshape") ? first.inputs[0] : undefined;
  if (first === undefined || transpose === undefined || data === undefined) return undefined;
  const [before, apart, after] = [data, first.outputs[0], last.outputs[0]].map((value) => scope.shape(value));
  const perm = permutationOf(transpose);
  if (before === undefined || apart === undefined || perm === undefined || !sameShape(before, after)) {
    return undefined;
  }
  const found = shuffledAxis(before, apart, perm);
  return found && { nodes: [first, transpose, last], data, ...found };
}

/** The node that makes the first input of `node`, which is a `type`, and is read by nothing else. */
function soleProducer(node: Node, type: string, scope: Scope): Node | undefined {
  if (!isOp(node, type) || scope.children.has(node)) return undefined;
  const [input] = node.inputs;
  const isShared = input === undefined || input.isOutput || input.consumers.length !== 1;
  return isShared ? undefined : input.producer;
}

function sameShape(a: Shape, b: Shape | undefined): boolean {
  return a.length === b?.length && a.every((dim, at) => sameDim(dim, b[at] ?? -1));
}

/** The axis of `before` that is several axes in `apart`, all others being the same and staying in place. */
function shuffledAxis(
  before: Shape,
  apart: Shape,
  perm: readonly number[],
): { readonly axis: number; readonly order: readonly number[] } | undefined {
  const count = apart.length - before.length + 1;
  if (count < 2 || perm.length !== apart.length) return undefined;
  for (const axis of before.keys()) {
    const factors = numbersOf(apart.slice(axis, axis + count));
    const size = before[axis];
    const rest = before.toSpliced(axis, 1);
    if (factors === undefined || typeof size !== "number" || size > maxShuffled) continue;
    if (factors.reduce((product, factor) => product * factor, 1) !== size) continue;
    if (!sameShape(rest, apart.toSpliced(axis, count))) continue;
    const stays = perm.every(
      (from, to) => from === to || (isWithin(from, axis, count) && isWithin(to, axis, count)),
    );
    if (stays)
      return {
        axis,
        order: orderOf(
          factors,
          perm.slice(axis, axis + count).map((from) => from - axis),
        ),
      };
  }
  return undefined;
}

/** Indices of the Gather between padded layouts; a padded position of the result reads what its first one reads. */
export function gatherOrder({ from, to, order }: RelatedShuffle, sizes: PaddedSizes): number[] {
  const places = new Map<number, number>();
  for (const [place, index] of indexMap(from, sizes).entries()) if (index >= 0) places.set(index, place);
  return Array.from(indexMap(to, sizes), (index) => places.get(order[Math.max(index, 0)] ?? 0) ?? 0);
}

function isWithin(position: number, axis: number, count: number): boolean {
  return position >= axis && position < axis + count;
}

/** Positions in row-major order of the turned factors. */
function orderOf(factors: readonly number[], perm: readonly number[]): number[] {
  const strides = factors.map((_, at) =>
    factors.slice(at + 1).reduce((product, factor) => product * factor, 1),
  );
  let order = [0];
  for (const from of perm) {
    const [size, stride] = [factors[from] ?? 1, strides[from] ?? 0];
    order = order.flatMap((base) => Array.from({ length: size }, (_, index) => base + index * stride));
  }
  return order;
}
