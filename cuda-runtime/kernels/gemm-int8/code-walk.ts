/** @file Convolutions of codes: as a product whose rows are gathered, or which TMA walks through the image for (conv-int8-hopper). */
import type { ImageWalk, TensorMap } from "../../ir/params.ts";
import type { View } from "../../ir/view.ts";
import type { CodeWindow } from "./code-product.ts";

/** Bytes of a stage's rows. */
export const walkDepth = 128;

/** Of a convolution that TMA may walk: what its depth is made of. */
export interface WalkSize {
  readonly channels: number;
  readonly taps: number;
}

/** Steps of `walkDepth`, where a stage has that many parts: each a box of channels of one tap. */
export function walkSteps({ channels, taps }: WalkSize, parts: number): number {
  return Math.ceil((taps * boxesOfTap(channels, parts)) / parts);
}

function boxesOfTap(channels: number, parts: number): number {
  return Math.ceil((channels * parts) / walkDepth);
}

/** PTX ISA, "im2col mode": how far the corners of the walk, the offsets of a tap, and steps reach. */
const [mostCorner, mostTap, mostStride] = [128, 255, 8];

/** Whether TMA's fields hold the walk. What lies outside of the image is zero. */
export function canWalkCodes(window: CodeWindow): boolean {
  const { x, w, strides, dilations } = window;
  const { lower, upper } = walkOf(window);
  const taps = w.shape.slice(2);
  return (
    [...lower, ...upper].every((at) => at >= -mostCorner && at < mostCorner) &&
    strides.every((stride) => stride <= mostStride) &&
    taps.every((count, axis) => (count - 1) * (dilations[axis] ?? 1) <= mostTap) &&
    x.strides.every((stride, axis) => stride > 0 || x.shape[axis] === 1)
  );
}

export function walkSizeOf({ x, w }: CodeWindow): WalkSize {
  const [, , tapsY = 1, tapsX = 1] = w.shape;
  return { channels: x.shape[1] ?? 1, taps: tapsY * tapsX };
}

/** Width, then height. */
function walkOf({ x, to, strides, pads }: CodeWindow): ImageWalk {
  const axes = [1, 0] as const;
  const [sizes, outputs] = [x.shape.slice(2), to.shape.slice(2)];
  return {
    lower: axes.map((axis) => -pads[axis]),
    upper: axes.map(
      (axis) => strides[axis] * ((outputs[axis] ?? 1) - 1) - pads[axis] - ((sizes[axis] ?? 1) - 1),
    ),
    strides: axes.map((axis) => strides[axis]),
  };
}

/** Of tiles of m positions and n filters. `b`: [filters, taps, channels], packed. Axes of one element have a stride of no matter, but a valid one. */
export function walkMaps(
  window: CodeWindow,
  b: View,
  { m, n }: { readonly m: number; readonly n: number },
  parts: number,
): { readonly a: TensorMap; readonly b: TensorMap; readonly taps: number; readonly boxesOfTap: number } {
  const { x } = window;
  const [images = 1, channels = 1, height = 1, width = 1] = x.shape;
  const [stepImage = 0, , stepY = 0, stepX = 0] = x.strides;
  const { taps } = walkSizeOf(window);
  const box = walkDepth / parts;
  return {
    a: {
      view: x,
      sizes: [channels, width, height, images],
      strides: [stepX, stepY, stepImage].map((step) => (step === 0 ? channels : step)),
      box: [box, m],
      walk: walkOf(window),
    },
    b: {
      view: b,
      sizes: [channels, taps, b.shape[1] ?? 1],
      strides: [channels, channels * taps],
      box: [box, 1, n],
    },
    taps,
    boxesOfTap: boxesOfTap(channels, parts),
  };
}

export function windowFields(window: CodeWindow | undefined) {
  const none = [0, 0, 0, 0] as const;
  const { shape, strides } = window?.x ?? { shape: none, strides: none };
  const [outHeight = 1, outWidth = 1] = window?.to.shape.slice(2) ?? [];
  const [strideY, strideX] = window?.strides ?? [1, 1];
  const [dilationY, dilationX] = window?.dilations ?? [1, 1];
  const [padY, padX] = window?.pads ?? [0, 0];
  return {
    ...{ channels: shape[1] ?? 0, height: shape[2] ?? 0, width: shape[3] ?? 0 },
    ...{ outWidth, outPositions: outHeight * outWidth, tapsX: window?.w.shape[3] ?? 1 },
    ...{ strideY, strideX, dilationY, dilationX, padY, padX },
    ...{ xN: strides[0] ?? 0, xH: strides[2] ?? 0, xW: strides[3] ?? 0 },
  };
}
