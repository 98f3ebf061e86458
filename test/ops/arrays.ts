/** @file Arrays of arrays, as slow and plain as possible: what folded elements are checked against. */

import type { TensorFact } from "../../src/ops/op.ts";
import { tensor } from "../../src/ops/shape.ts";

export type Nested = number | readonly Nested[];

/** Row-major elements as arrays of arrays. */
export function nest(shape: readonly number[], elements: readonly number[]): Nested {
  const [first, ...rest] = shape;
  if (first === undefined) return elements[0] ?? Number.NaN;
  const size = elements.length / first;
  return Array.from({ length: first }, (_, at) => nest(rest, elements.slice(at * size, (at + 1) * size)));
}

export function flatten(array: Nested): number[] {
  return typeof array === "number" ? [array] : array.flatMap(flatten);
}

function items(array: Nested): readonly Nested[] {
  if (typeof array === "number") throw new Error("a number has no items");
  return array;
}

/** The entries of an axis at `indices`, in that order. */
export function take(array: Nested, axis: number, indices: readonly number[]): Nested {
  if (axis > 0) return items(array).map((item) => take(item, axis - 1, indices));
  return indices.map((index) => {
    const item = items(array)[index];
    if (item === undefined) throw new Error(`index ${index} is out of range`);
    return item;
  });
}

export function at(array: Nested, position: readonly number[]): number {
  let item = array;
  for (const index of position) item = items(item)[index] ?? Number.NaN;
  return typeof item === "number" ? item : Number.NaN;
}

/** All positions of a shape, row-major. */
export function positions(shape: readonly number[]): number[][] {
  const [first, ...rest] = shape;
  if (first === undefined) return [[]];
  return Array.from({ length: first }, (_, index) => index).flatMap((index) =>
    positions(rest).map((position) => [index, ...position]),
  );
}

/** int64 0, 1, 2, … in a shape. */
export function counting(shape: readonly number[]): TensorFact {
  const size = shape.reduce((product, dim) => product * dim, 1);
  return tensor(
    "int64",
    shape,
    Array.from({ length: size }, (_, index) => index),
  );
}
