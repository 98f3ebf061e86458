/** @file Axes and padded lanes of matrix products: batches broadcast, K is summed over, M and N pass. */
import type { Axis } from "../../ir/axis.ts";
import { type AxisContext, broadcastOf, type Lane, type LaneContext, zeroLane } from "../axes.ts";
import { mixLanes, operandLane, productLane, type Sources, zeroOrFinite } from "../lanes.ts";
import type { Orientation } from "./matrix-product.ts";

/** An operand by the part its axes play; positions in the operand. A vector has no row of its own. */
interface Parts {
  readonly batch: readonly number[];
  readonly kept: number | undefined;
  readonly summed: number;
}

function partsOf(rank: number, summedLast: boolean): Parts {
  if (rank === 1) return { batch: [], kept: undefined, summed: 0 };
  const batch = Array.from({ length: rank - 2 }, (_, axis) => axis);
  return summedLast
    ? { batch, kept: rank - 2, summed: rank - 1 }
    : { batch, kept: rank - 1, summed: rank - 2 };
}

function partsOfBoth(ranks: readonly [number, number], { transA, transB }: Orientation) {
  return [partsOf(ranks[0], !transA), partsOf(ranks[1], transB)] as const;
}

function pick(axes: readonly Axis[], positions: readonly (number | undefined)[]): Axis[] {
  return positions.flatMap((position) => (position === undefined ? [] : (axes[position] ?? [])));
}

/** A [..., M, K] · B [..., K, N], inputs 0 and 1. */
export function matrixAxes(context: AxisContext, orientation: Orientation): void {
  const [a, b] = [context.axesOf(0), context.axesOf(1)];
  if (a === undefined || b === undefined || a.length === 0 || b.length === 0) {
    return context.blockAll("has operands of unknown sizes");
  }
  const [left, right] = partsOfBoth([a.length, b.length], orientation);
  const [k, otherK] = [a[left.summed], b[right.summed]];
  if (k === undefined || otherK === undefined) return;
  context.solver.unify(k, otherK, `inner axes of ${context.node.opType} differ in structure`);
  context.contract(k, 0, 1);
  const batch = broadcastOf(context, [pick(a, left.batch), pick(b, right.batch)]);
  context.setAxes(0, [...batch, ...pick(a, [left.kept]), ...pick(b, [right.kept])]);
}

export function matrixLane(context: LaneContext, orientation: Orientation): Lane {
  const [a, b] = [rankOf(context, 0), rankOf(context, 1)];
  const [left, right] = partsOfBoth([a, b], orientation);
  const depth = Math.max(left.batch.length, right.batch.length);
  const batch = Array.from({ length: depth }, (_, position) => [
    ...sourceFromEnd(0, left.batch, depth - position),
    ...sourceFromEnd(1, right.batch, depth - position),
  ]);
  const kept = [
    ...(left.kept === undefined ? [] : [[[0, left.kept] as const]]),
    ...(right.kept === undefined ? [] : [[[1, right.kept] as const]]),
  ];
  return productLane(context, [...batch, ...kept]);
}

function sourceFromEnd(input: number, batch: readonly number[], distance: number): Sources[number] {
  const axis = batch[batch.length - distance];
  return axis === undefined ? [] : [[input, axis]];
}

function rankOf(context: LaneContext, index: number): number {
  const fact = context.inputs[index];
  return fact?.kind === "tensor" ? (fact.shape?.length ?? 0) : 0;
}

/** Gemm: a matrix product to which C, broadcast to it, is added. */
export function gemmAxes(context: AxisContext, orientation: Orientation): void {
  const [a, b, c] = [context.axesOf(0), context.axesOf(1), context.axesOf(2)];
  if (a?.length !== 2 || b?.length !== 2) return context.blockAll("has operands of unknown sizes");
  const [left, right] = partsOfBoth([2, 2], orientation);
  const [k, otherK] = [a[left.summed], b[right.summed]];
  if (k === undefined || otherK === undefined) return;
  context.solver.unify(k, otherK, "inner axes of Gemm differ in structure");
  context.contract(k, 0, 1);
  const product = [...pick(a, [left.kept]), ...pick(b, [right.kept])];
  context.setAxes(0, broadcastOf(context, c === undefined ? [product] : [product, c]));
}

/** Scaled by alpha and beta, so that constants other than zero do not survive. */
export function gemmLane(context: LaneContext, orientation: Orientation): Lane {
  const product = zeroOrFinite(matrixLane(context, orientation));
  return mixLanes([product, addedLane(context, 2)]);
}

/** Of a bias, or anything else added to a product; zero where there is none. */
export function addedLane(context: LaneContext, index: number | undefined): Lane {
  if (index === undefined || context.inputs[index] === undefined) return zeroLane;
  return operandLane(context, index);
}
