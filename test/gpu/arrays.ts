/** @file Plain arrays with shapes, for references that are written as their definitions are. */
import { elementCount, stridesOf } from "../../cuda-runtime/ir/view.ts";

export interface Grid {
  readonly shape: readonly number[];
  readonly values: ArrayLike<number>;
}

/** Row-major values of `shape`, each from its position. */
export function filled(
  shape: readonly number[],
  valueAt: (position: readonly number[]) => number,
): Float64Array {
  const strides = stridesOf(shape);
  return Float64Array.from({ length: elementCount(shape) }, (_, index) =>
    valueAt(shape.map((size, axis) => Math.floor(index / (strides[axis] ?? 1)) % size)),
  );
}

export function at({ shape, values }: Grid, position: readonly number[]): number {
  return values[offsetIn(shape, position)] ?? Number.NaN;
}

export function offsetIn(shape: readonly number[], position: readonly number[]): number {
  return position.reduce((offset, index, axis) => offset * (shape[axis] ?? 1) + index, 0);
}
