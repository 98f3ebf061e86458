/** @file How TMA walks through an image for the rows of a convolution's tile (its im2col mode): corners of the walk, and what its fields hold. */
import type { ImageWalk } from "../../ir/params.ts";

/** One spatial axis of a convolution: positions of its input and its output, and the window along it. */
export interface WalkAxis {
  readonly input: number;
  readonly output: number;
  readonly taps: number;
  readonly stride: number;
  readonly dilation: number;
  readonly pad: number;
}

/** PTX ISA, "im2col mode": how far the corners of the walk and the offsets of a tap reach, by the number of spatial axes. */
const reaches = { 2: { corner: 128, tap: 255 }, 3: { corner: 16, tap: 31 } } as const;
const mostStride = 8;

/** From the innermost axis on. */
export function imageWalkOf(axes: readonly WalkAxis[]): ImageWalk {
  return {
    lower: axes.map(({ pad }) => -pad),
    upper: axes.map(({ input, output, stride, pad }) => stride * (output - 1) - pad - (input - 1)),
    strides: axes.map(({ stride }) => stride),
  };
}

/** Whether TMA's fields hold the walk of two axes or three. */
export function fitsImageWalk(axes: readonly WalkAxis[]): boolean {
  const { corner, tap } = reaches[axes.length === 3 ? 3 : 2];
  const { lower, upper } = imageWalkOf(axes);
  return (
    [...lower, ...upper].every((at) => at >= -corner && at < corner) &&
    axes.every(({ stride, taps, dilation }) => stride <= mostStride && (taps - 1) * dilation <= tap)
  );
}
