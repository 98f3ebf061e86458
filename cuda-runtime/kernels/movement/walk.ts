/** @file A walk over a tensor's elements in memory order: axes merged over all operands, elements taken together. */

import { OperandError } from "../../ir/operand-error.ts";
import { maxRank } from "../../ir/params.ts";
import { bytesOfType } from "../../ir/storage.ts";
import type { View } from "../../ir/view.ts";

/** Bytes that one thread moves at a time; the kernels exist for each. */
const widths = [16, 8, 4, 2, 1] as const;
export type Width = (typeof widths)[number];

/** One axis of the walk. */
export interface WalkAxis {
  readonly size: number;
  /** Of each operand along it, in its elements; 0 where it does not move. */
  readonly strides: readonly number[];
  /** Looked at by position: it may not be merged with its neighbours, nor be taken several elements at a time. */
  readonly isFixed?: boolean;
}

/** An operand whose elements are moved, with what its address takes beside the axes. */
export interface Moved {
  readonly view: View;
  /** Its place in `WalkAxis.strides`. */
  readonly operand: number;
  /** Further strides, in elements: of a gathered axis. */
  readonly more: readonly number[];
}

export interface Walk {
  /** Outermost first. Strides of moved operands count elements of `width` bytes. */
  readonly axes: readonly WalkAxis[];
  readonly width: Width;
  /** Elements of the moved operands taken together. */
  readonly factor: number;
  /** Threads' worth of work. */
  readonly count: number;
}

/** The axes that are left after merging, in the memory order of operand `by`. */
export function collapsed(axes: readonly WalkAxis[], by: number): WalkAxis[] {
  const reach = ({ strides }: WalkAxis) => Math.abs(strides[by] ?? 0);
  const wide = axes.filter(({ size, isFixed }) => size !== 1 || isFixed === true);
  const merged: WalkAxis[] = [];
  for (const axis of wide.toSorted((a, b) => reach(b) - reach(a))) {
    const outer = merged.at(-1);
    if (outer !== undefined && fits(outer, axis)) {
      merged[merged.length - 1] = { size: outer.size * axis.size, strides: axis.strides };
    } else {
      merged.push(axis);
    }
  }
  return merged;
}

function fits(outer: WalkAxis, inner: WalkAxis): boolean {
  if (outer.isFixed === true || inner.isFixed === true) return false;
  return outer.strides.every((stride, operand) => stride === (inner.strides[operand] ?? 0) * inner.size);
}

/**
 * Axes merged, and elements of the moved operands taken up to 16 bytes at a time where all of them allow it.
 *
 * @param choices Widths that the kernel has, the element's own among them, the widest first.
 */
export function walkOver(
  axes: readonly WalkAxis[],
  by: number,
  moved: readonly Moved[],
  choices: readonly Width[] = widths,
): Walk {
  const merged = collapsed(axes, by);
  const [first] = moved;
  const bytes = first === undefined ? 1 : bytesOfType(first.view.type);
  const width =
    first === undefined
      ? 1
      : (choices.find((each) => each >= bytes && mayTake(merged, moved, each / bytes)) ?? 1);
  const factor = Math.max(1, width / bytes);
  const wide = factor === 1 ? merged : widened(merged, moved, factor);
  if (wide.length > maxRank) {
    throw new OperandError(`walks ${wide.length} axes that do not merge; up to ${maxRank} are supported`);
  }
  return { axes: wide, width, factor, count: wide.reduce((total, { size }) => total * size, 1) };
}

/** Whether `factor` neighbours along the last axis lie together, aligned, in every moved operand. */
function mayTake(axes: readonly WalkAxis[], moved: readonly Moved[], factor: number): boolean {
  if (factor === 1) return true;
  const inner = axes.at(-1);
  if (inner === undefined || inner.isFixed === true || inner.size % factor !== 0) return false;
  const operands = new Set(moved.map(({ operand }) => operand));
  const standStill = inner.strides.every((stride, operand) => operands.has(operand) || stride === 0);
  return (
    standStill &&
    moved.every(({ view, operand, more }) => {
      const others = axes.slice(0, -1).map(({ strides }) => strides[operand] ?? 0);
      const isUnit = inner.strides[operand] === 1;
      return isUnit && [view.offset, ...others, ...more].every((each) => each % factor === 0);
    })
  );
}

function widened(axes: readonly WalkAxis[], moved: readonly Moved[], factor: number): WalkAxis[] {
  const operands = new Set(moved.map(({ operand }) => operand));
  const last = axes.length - 1;
  return axes.map((axis, at) => ({
    ...axis,
    size: at === last ? axis.size / factor : axis.size,
    strides: axis.strides.map((stride, operand) =>
      operands.has(operand) && at !== last ? stride / factor : stride,
    ),
  }));
}

export function stridesAlong(walk: Walk, operand: number): number[] {
  return walk.axes.map(({ strides }) => strides[operand] ?? 0);
}

/** q = (high(n · multiplier) + n) >> shift divides n < 2³¹ by `size`. */
export interface Divisor {
  readonly multiplier: number;
  readonly shift: number;
}

export function divisorOf(size: number): Divisor {
  let shift = 0;
  while (2 ** shift < size) shift++;
  const multiplier = ((1n << 32n) * ((1n << BigInt(shift)) - BigInt(size))) / BigInt(size) + 1n;
  // The kernel reads the bits as unsigned.
  return { multiplier: Number(BigInt.asIntN(32, multiplier)), shift };
}
