/** @file Convolutions of codes: as a product whose rows are gathered, or which TMA walks through the image for (conv-int8-hopper). */
import type { TensorMap } from "../../ir/params.ts";
import type { View } from "../../ir/view.ts";
import { fitsImageWalk, imageWalkOf, type WalkAxis } from "../common/image-walk.ts";
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

/** Whether TMA's fields hold the walk. What lies outside of the image is zero. */
export function canWalkCodes(window: CodeWindow): boolean {
  const { x } = window;
  return (
    fitsImageWalk(walkAxes(window)) && x.strides.every((stride, axis) => stride > 0 || x.shape[axis] === 1)
  );
}

export function walkSizeOf({ x, w }: CodeWindow): WalkSize {
  const [, , tapsY = 1, tapsX = 1] = w.shape;
  return { channels: x.shape[1] ?? 1, taps: tapsY * tapsX };
}

/** Width, then height. */
function walkAxes({ x, w, to, strides, dilations, pads }: CodeWindow): WalkAxis[] {
  return ([1, 0] as const).map((axis) => ({
    ...{ input: x.shape[2 + axis] ?? 1, output: to.shape[2 + axis] ?? 1, taps: w.shape[2 + axis] ?? 1 },
    ...{ stride: strides[axis], dilation: dilations[axis], pad: pads[axis] },
  }));
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
      walk: imageWalkOf(walkAxes(window)),
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
