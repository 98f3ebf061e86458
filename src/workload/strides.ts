/** @file Where the elements of a value lie: strides in elements, an axis each, as a library that answers with views keeps them. */
import { volume } from "../ops/work.ts";

export type Strides = readonly number[];

/** Row by row, without gaps. */
export function packed(sizes: readonly number[]): Strides {
  return packedIn(
    sizes,
    sizes.map((_, axis) => axis),
  );
}

/** Without gaps, the axes nested as `order` names them, the outermost first. */
function packedIn(sizes: readonly number[], order: readonly number[]): Strides {
  const strides = new Array<number>(sizes.length).fill(1);
  let step = 1;
  for (const axis of order.toReversed()) {
    strides[axis] = step;
    step *= sizes[axis] ?? 1;
  }
  return strides;
}

/** Without gaps, in the order in which `strides` nest their axes. */
export function packedLike(sizes: readonly number[], strides: Strides): Strides {
  const order = sizes.map((_, axis) => axis);
  const isFree = (axis: number) => sizes[axis] === 1;
  // An axis of one element may stand anywhere: it stays where it is.
  const moving = order.filter((axis) => !isFree(axis));
  const nested = moving.toSorted((a, b) => (strides[b] ?? 0) - (strides[a] ?? 0) || a - b);
  let next = 0;
  return packedIn(
    sizes,
    order.map((axis) => (isFree(axis) ? axis : (nested[next++] ?? axis))),
  );
}

/** Whether two say the same of every axis that has more than one element. */
export function areAlike(sizes: readonly number[], left: Strides, right: Strides): boolean {
  return sizes.every((size, axis) => size === 1 || left[axis] === right[axis]);
}

export function isPacked(sizes: readonly number[], strides: Strides): boolean {
  return areAlike(sizes, strides, packed(sizes));
}

/** Whether both go over memory in the same order, gaps aside. */
export function areOrderedAlike(sizes: readonly number[], left: Strides, right: Strides): boolean {
  return areAlike(sizes, packedLike(sizes, left), packedLike(sizes, right));
}

/** Of the same elements in another shape, where no element has to move; else undefined. */
export function reshapedStrides(
  sizes: readonly number[],
  strides: Strides,
  shape: readonly number[],
): Strides | undefined {
  const runs = runsOf(sizes, strides);
  const result = new Array<number>(shape.length).fill(1);
  let axis = shape.length - 1;
  for (const { size, step } of runs) {
    let [left, at] = [size, step];
    for (; axis >= 0 && (left > 1 || shape[axis] === 1); axis--) {
      const own = shape[axis] ?? 1;
      if (left % own !== 0) return undefined;
      result[axis] = at;
      at *= own;
      left /= own;
    }
    if (left !== 1) return undefined;
  }
  return axis < 0 || volume(shape.slice(0, axis + 1)) === 1 ? result : undefined;
}

interface Run {
  readonly size: number;
  /** From one element to the next. */
  readonly step: number;
}

/** Axes that follow one another without a gap are one; the innermost comes first. */
function runsOf(sizes: readonly number[], strides: Strides): Run[] {
  const runs: Run[] = [];
  for (let axis = sizes.length - 1; axis >= 0; axis--) {
    const [size, step] = [sizes[axis] ?? 1, strides[axis] ?? 1];
    if (size === 1) continue;
    const last = runs.at(-1);
    if (last !== undefined && step === last.step * last.size)
      runs[runs.length - 1] = { size: size * last.size, step: last.step };
    else runs.push({ size, step });
  }
  return runs;
}

/** Repeats axes of one element, and those that `shape` has more in front. */
export function expandedStrides(
  sizes: readonly number[],
  strides: Strides,
  shape: readonly number[],
): Strides {
  const more = shape.length - sizes.length;
  return shape.map((size, axis) => {
    const own = sizes[axis - more] ?? 1;
    return own === 1 && size > 1 ? 0 : (strides[axis - more] ?? 0);
  });
}
