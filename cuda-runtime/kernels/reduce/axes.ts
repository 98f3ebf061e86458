/** @file Axes of several views walked together: fewer of them where they lie one within the other. */

import { OperandError } from "../../ir/operand-error.ts";
import { maxRank } from "../../ir/params.ts";

/** One axis: its size, and its stride in each of the views. */
export interface Axis {
  readonly size: number;
  readonly strides: readonly number[];
}

/** Axes of one element left out, and neighbours merged that every view walks as one; outermost first. */
export function mergedAxes(axes: readonly Axis[]): readonly Axis[] {
  const merged: Axis[] = [];
  for (const axis of axes) {
    if (axis.size === 1) continue;
    const last = merged.at(-1);
    if (last?.strides.every((stride, view) => stride === (axis.strides[view] ?? 0) * axis.size) === true) {
      merged[merged.length - 1] = { size: last.size * axis.size, strides: axis.strides };
    } else {
      merged.push(axis);
    }
  }
  return merged;
}

/** The axis with the largest stride of the first view first: the last one is next to each other in memory. */
export function byStride(axes: readonly Axis[]): readonly Axis[] {
  return axes.toSorted((a, b) => Math.abs(b.strides[0] ?? 0) - Math.abs(a.strides[0] ?? 0));
}

/** Throws OperandError where a kernel's parameters cannot hold them. */
export function checkRank(axes: readonly Axis[]): void {
  if (axes.length <= maxRank) return;
  throw new OperandError(`walks ${axes.length} axes that do not merge; up to ${maxRank} are supported`);
}

/** Sizes and strides as kernel parameters: `sizes`, then one array for each view. */
export function sizesOf(axes: readonly Axis[]): number[] {
  return axes.map(({ size }) => size);
}

export function stridesAt(axes: readonly Axis[], view: number): number[] {
  return axes.map(({ strides }) => strides[view] ?? 0);
}

export function productOf(axes: readonly Axis[]): number {
  return axes.reduce((total, { size }) => total * size, 1);
}

/** The largest power of two that is at most `value`, at least 1. */
export function powerOfTwoBelow(value: number): number {
  return value < 2 ? 1 : 2 ** Math.floor(Math.log2(value));
}
