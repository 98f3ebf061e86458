/** @file An axis in blocks that share a parameter, as views. */

import { sliced, type View } from "../ir/view.ts";
import type { LowerContext } from "./context.ts";

/** `count` times `size` neighbouring positions of an axis from `start`. */
export interface Blocks {
  readonly start: number;
  readonly count: number;
  readonly size: number;
}

/** Positions, and the parameters that belong to them: one a block. */
export interface BlockPart {
  readonly elements: Blocks;
  readonly parameters: Blocks;
}

/** Whole blocks, then what is left for the last parameter. */
export function blocksOf(context: LowerContext, size: number, parameters: number): BlockPart[] {
  const stated = context.int("block_size") ?? 0;
  const block = stated > 0 ? stated : Math.ceil(size / parameters);
  if (Math.ceil(size / block) !== parameters) {
    context.fail(
      `has ${parameters} scales for ${size} elements in blocks of ${block}, expected ${Math.ceil(size / block)}`,
    );
  }
  const whole = Math.floor(size / block);
  const parts: BlockPart[] = [];
  if (whole > 0) {
    parts.push({
      elements: { start: 0, count: whole, size: block },
      parameters: { start: 0, count: whole, size: 1 },
    });
  }
  if (whole < parameters) {
    parts.push({
      elements: { start: whole * block, count: 1, size: size - whole * block },
      parameters: { start: whole, count: 1, size: 1 },
    });
  }
  return parts;
}

/** The part of the view with its axis as two: blocks, and positions in a block. */
export function inBlocks(view: View, axis: number, { start, count, size }: Blocks): View {
  const part = sliced(view, axis, start, count * size);
  const stride = part.strides[axis] ?? 0;
  return {
    ...part,
    shape: part.shape.toSpliced(axis, 1, count, size),
    strides: part.strides.toSpliced(axis, 1, stride * size, stride),
  };
}
