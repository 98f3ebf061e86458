/** @file Which axes a reduction walks, and what is left of the shape. */
import { type Dim, product, type Shape } from "../../ir/dim.ts";
import type { OpContext } from "../op.ts";
import { normalizeAxis, numbersAt, numbersOf, tensorAt, unknownShape } from "../shape.ts";

/** The reduced axes as the model names them; "all"; or undefined where an input names them and is not known. */
export type NamedAxes = readonly number[] | "all" | undefined;

/** @param inputSince The opset that turned the attribute `axes` into input 1. */
export function namedAxes(context: OpContext, inputSince: number): NamedAxes {
  if (context.opset < inputSince) return orDefault(context, context.ints("axes") ?? []);
  if (context.inputs[1] === undefined) return orDefault(context, []);
  const axes = numbersAt(context, 1);
  return axes === undefined ? undefined : orDefault(context, axes);
}

/** No axes mean all of them, unless the node says that they mean none. */
function orDefault(context: OpContext, axes: readonly number[]): NamedAxes {
  return axes.length > 0 || context.int("noop_with_empty_axes") === 1 ? axes : "all";
}

export function resolveAxes(axes: readonly number[] | "all", rank: number): ReadonlySet<number> {
  if (axes === "all") return new Set(Array.from({ length: rank }, (_, axis) => axis));
  return new Set(axes.map((axis) => normalizeAxis(axis, rank)));
}

/** Shape after a reduction. */
export function reducedShape(shape: Shape, axes: ReadonlySet<number>, keepDims: boolean): Shape {
  if (keepDims) return shape.map((size, axis) => (axes.has(axis) ? 1 : size));
  return shape.filter((_, axis) => !axes.has(axis));
}

/** What is known of the result where the axes or the input's rank are not. */
export function partlyReducedShape(
  context: OpContext,
  axes: NamedAxes,
  keepDims: boolean,
): Shape | undefined {
  const rank = tensorAt(context, 0).shape?.length;
  if (rank === undefined) return axes === "all" && !keepDims ? [] : undefined;
  if (keepDims) return unknownShape(rank);
  const count = numbersOf(tensorAt(context, 1).shape)?.[0];
  return count === undefined || count > rank ? undefined : unknownShape(rank - count);
}

/** Elements kept and elements folded into each, as rows and columns of a walk. */
export function rowsAndColumns(shape: Shape, axes: ReadonlySet<number>): readonly [rows: Dim, columns: Dim] {
  return [
    product(shape.filter((_, axis) => !axes.has(axis))),
    product(shape.filter((_, axis) => axes.has(axis))),
  ];
}

/** Replaces one size of a shape. */
export function withSize(shape: Shape, axis: number, size: Dim): Shape {
  return shape.map((old, at) => (at === axis ? size : old));
}
