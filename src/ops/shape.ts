/** @file The vocabulary of inference rules: facts, axes, broadcasting. */

import { type Dim, isUnknown, maxDims, type Shape, sameDim, unknownDim } from "../ir/dim.ts";
import type { DType } from "../ir/dtype.ts";
import { textOf } from "../ir/message.ts";
import { type Fact, maxFoldedElements, type OpContext, ShapeError, type TensorFact } from "./op.ts";

export function tensor(
  dtype: DType | undefined,
  shape: Shape | undefined,
  elements?: readonly Dim[] | undefined,
): TensorFact {
  if (elements === undefined || elements.length > maxFoldedElements) return { kind: "tensor", dtype, shape };
  return { kind: "tensor", dtype, shape, elements };
}

export const unknownTensor: TensorFact = { kind: "tensor", dtype: undefined, shape: undefined };

/** Input `index` as a tensor; an omitted or non-tensor input reads as unknown. */
export function tensorAt(context: OpContext, index: number): TensorFact {
  return asTensor(context.inputs[index]);
}

export function asTensor(fact: Fact | undefined): TensorFact {
  return fact?.kind === "tensor" ? fact : unknownTensor;
}

/** Elements of input `index`, known ones as dims. */
export function elementsAt(context: OpContext, index: number): readonly Dim[] | undefined {
  return elementsOf(tensorAt(context, index));
}

/** Elements as dims; a tensor without any needs nobody to tell them. */
export function elementsOf({ shape, elements }: TensorFact): readonly Dim[] | undefined {
  return elements ?? (shape?.includes(0) ? [] : undefined);
}

/** Elements of input `index` where every one is a plain number. */
export function numbersAt(context: OpContext, index: number): readonly number[] | undefined {
  return numbersOf(elementsAt(context, index));
}

export function numbersOf(elements: readonly Dim[] | undefined): readonly number[] | undefined {
  return elements?.every((element) => typeof element === "number") ? elements : undefined;
}

/** An axis counted from the end made non-negative. Throws where it is outside [-rank, rank). */
export function normalizeAxis(axis: number, rank: number, what = "axis"): number {
  if (!Number.isInteger(axis) || axis < -rank || axis >= rank) {
    throw new ShapeError(textOf`${what} ${axis} is outside a tensor of rank ${rank}`);
  }
  return axis < 0 ? axis + rank : axis;
}

/** Shape of a multidirectional broadcast; undefined where a rank is unknown. Throws where sizes cannot meet. */
export function broadcast(...shapes: readonly (Shape | undefined)[]): Shape | undefined {
  return broadcastAll(shapes);
}

/** The same for a list, which may be longer than a call has arguments. */
export function broadcastAll(shapes: readonly (Shape | undefined)[]): Shape | undefined {
  let result: Shape = [];
  for (const shape of shapes) {
    if (shape === undefined) return undefined;
    result = broadcastTwo(result, shape);
  }
  return result;
}

function broadcastTwo(a: Shape, b: Shape): Shape {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, axis) => {
    const left = a[axis - rank + a.length] ?? 1;
    const right = b[axis - rank + b.length] ?? 1;
    return broadcastDim(left, right, () => textOf`cannot broadcast ${a} with ${b}`);
  });
}

function broadcastDim(a: Dim, b: Dim, message: () => string): Dim {
  if (a === 1) return b;
  if (b === 1 || sameDim(a, b)) return a;
  if (typeof a === "number" && typeof b === "number") throw new ShapeError(message());
  // A number above 1 (or 0) decides: the other side must be it or 1.
  if (typeof a === "number") return a;
  if (typeof b === "number") return b;
  if (isUnknown(a) || isUnknown(b)) return unknownDim();
  return maxDims(a, b);
}

/** Hears of an expression and the number that it must be. */
export type EqualityListener = (dim: Dim, size: number) => void;

/** Whoever infers a node hears what its operator requires: rules of shapes are functions of sizes, and know of nobody. */
let told: EqualityListener | undefined;

/** Makes `listener` the one who hears of equalities, or nobody; who it was before, to be put back. */
export function hearEqualities(listener: EqualityListener | undefined): EqualityListener | undefined {
  const before = told;
  told = listener;
  return before;
}

/** The one size two axes must share: the known one. Throws where both are known and differ. */
export function unify(a: Dim, b: Dim, what: string): Dim {
  if (typeof a === "number" && typeof b === "number" && a !== b) {
    throw new ShapeError(textOf`${what}: ${a} does not equal ${b}`);
  }
  if (typeof a === "number" && typeof b !== "number") told?.(b, a);
  else if (typeof b === "number" && typeof a !== "number") told?.(a, b);
  return typeof a === "number" || (isUnknown(b) && typeof b !== "number") ? a : b;
}

/** Elements of a shape of plain numbers; undefined otherwise. */
export function sizeOf(shape: Shape | undefined): number | undefined {
  if (shape === undefined) return undefined;
  let size = 1;
  for (let axis = 0; axis < shape.length; axis++) {
    const dim = shape[axis];
    if (typeof dim !== "number") return undefined;
    size *= dim;
  }
  return size;
}

/** Row-major strides, in elements. */
export function stridesOf(shape: readonly number[]): number[] {
  const strides = new Array<number>(shape.length).fill(1);
  for (let axis = shape.length - 2; axis >= 0; axis--) {
    strides[axis] = (strides[axis + 1] ?? 1) * (shape[axis + 1] ?? 1);
  }
  return strides;
}

/** A shape of `rank` sizes nobody knows. */
export function unknownShape(rank: number): Shape {
  return Array.from({ length: rank }, () => unknownDim());
}
