/** @file Folding: tensors small enough to be known element by element, read and written by position. */

import { type Dim, product, type Shape, unknownDim } from "../../ir/dim.ts";
import type { DType } from "../../ir/dtype.ts";
import { textOf } from "../../ir/message.ts";
import { maxFoldedElements, type OpContext, ShapeError, type TensorFact } from "../op.ts";
import { elementsOf, numbersOf, sizeOf, stridesOf, tensor, unknownShape } from "../shape.ts";
import { checkedSize } from "../size.ts";

/** A tensor with its elements, row-major. */
export interface Folded {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly elements: readonly Dim[];
}

/** The tensor as a readable array, or undefined where its elements are not known. */
export function folded(fact: TensorFact): Folded | undefined {
  const shape = numbersOf(fact.shape);
  const elements = elementsOf(fact);
  if (shape === undefined || elements === undefined) return undefined;
  return { shape, strides: stridesOf(shape), elements };
}

/** The element at a position (one index an axis); unknown outside the tensor. */
export function elementAt(source: Folded, position: readonly number[]): Dim {
  let offset = 0;
  for (let axis = 0; axis < position.length; axis++) {
    const index = position[axis] ?? 0;
    const size = source.shape[axis] ?? 0;
    if (index < 0 || index >= size) return unknownDim();
    offset += index * (source.strides[axis] ?? 0);
  }
  return source.elements[offset] ?? unknownDim();
}

/** A tensor of `shape` with every element computed from its position, where it is small and of plain sizes. */
export function fill(
  dtype: DType | undefined,
  shape: Shape | undefined,
  elementOf: ((position: readonly number[]) => Dim) | undefined,
): TensorFact {
  const sizes = numbersOf(shape?.map((size) => checkedSize(size, "a size")));
  const count = sizeOf(shape);
  if (elementOf === undefined || sizes === undefined || count === undefined || count > maxFoldedElements) {
    return tensor(dtype, shape);
  }
  return tensor(
    dtype,
    shape,
    positionsOf(sizes, count).map((position) => elementOf(position)),
  );
}

function positionsOf(sizes: readonly number[], count: number): number[][] {
  const strides = stridesOf(sizes);
  return Array.from({ length: count }, (_, index) =>
    sizes.map((size, axis) => Math.floor(index / (strides[axis] ?? 1)) % size),
  );
}

/** The same elements in another shape, where they fit it. */
export function viewAs(source: TensorFact, shape: Shape | undefined): TensorFact {
  const { dtype, elements } = source;
  return tensor(dtype, shape, sizeOf(shape) === elements?.length ? elements : undefined);
}

/** A shape given by a 1-D tensor of sizes: at least its rank, where only that is known. */
export function shapeGivenBy(sizes: TensorFact): Shape | undefined {
  const elements = elementsOf(sizes);
  if (elements !== undefined) return elements.map((size) => checkedSize(size, "a size of the shape"));
  const rank = lengthOf(sizes);
  return rank === undefined ? undefined : unknownShape(rank);
}

/** Length of a 1-D tensor that lists axes, sizes or bounds, where it is a plain number a rank can have. */
export function lengthOf(list: TensorFact): number | undefined {
  const [length, ...more] = list.shape ?? [];
  return typeof length === "number" && more.length === 0 && length <= maxFoldedElements ? length : undefined;
}

/** One element out of a scalar or a tensor of one element. */
export function scalarOf(fact: TensorFact): Dim | undefined {
  return fact.elements?.length === 1 ? fact.elements[0] : undefined;
}

/** Elements of an integer index tensor as plain numbers, negative ones counted from the end of an axis of `size`. */
export function wrapIndex(index: Dim | undefined, size: Dim | undefined): number | undefined {
  if (typeof index !== "number") return undefined;
  if (index >= 0) return index;
  return typeof size === "number" ? index + size : undefined;
}

export function requiredInt(context: OpContext, name: string): number {
  const value = context.int(name);
  if (value === undefined) throw new ShapeError(textOf`the attribute ${name} is missing`);
  return value;
}

/** Elements of a shape: undefined only where the rank is not known. */
export function countOf(shape: Shape | undefined): Dim | undefined {
  return shape === undefined ? undefined : product(shape);
}
