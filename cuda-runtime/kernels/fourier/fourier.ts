/** @file Launches of discrete Fourier transforms. */

import type { Emitter } from "../../ir/emitter.ts";
import { writeParams } from "../../ir/param-table.ts";
import { storageTypes } from "../../ir/storage.ts";
import type { View } from "../../ir/view.ts";
import { type Axis, byStride, checkRank, mergedAxes, productOf, sizesOf, stridesAt } from "../reduce/axes.ts";
import { fourierStruct } from "./params.table.ts";

const threads = 256;
/** The grid's second axis. */
const mostRows = 32_768;

export interface FourierRequest {
  /** […, samples, …, 1 or 2]: real, or real and imaginary part. */
  readonly input: View;
  /** The input's shape but for `axis`, which has the bins, and the parts. */
  readonly output: View;
  readonly axis: number;
  /** Points of the transform: samples that are missing are 0, further ones are not read. */
  readonly length: number;
  /** One factor a sample. */
  readonly window: View | undefined;
  readonly isInverse: boolean;
  /** The input holds one half of a spectrum whose other half is its conjugate. */
  readonly isMirrored: boolean;
}

export function emitFourier(emitter: Emitter, request: FourierRequest): void {
  const { input, output, axis, length, window } = request;
  const parts = input.shape.length - 1;
  const others = input.shape.flatMap((size, at) =>
    at === axis || at === parts ? [] : [{ size, strides: [input.strides[at] ?? 0, output.strides[at] ?? 0] }],
  );
  const outer = mergedAxes(byStride(others));
  checkRank(outer);
  const rows = productOf(outer);
  const bins = output.shape[axis] ?? 1;
  if (rows * bins === 0) return;
  emitter.launch({
    kernel: {
      kind: "built",
      family: "fourier",
      entry: input.type === "float64" ? "fourier_f64" : "fourier_f32",
    },
    grid: [Math.ceil(bins / threads), Math.min(rows, mostRows), Math.ceil(rows / mostRows)],
    block: [threads, 1, 1],
    sharedBytes: 0,
    params: paramsOf(request, outer),
    reads: window === undefined ? [input] : [input, window],
    writes: [output],
    detail: `${rows}x${length} to ${bins} bins`,
  });
}

function paramsOf(request: FourierRequest, outer: readonly Axis[]) {
  const { input, output, axis, length, window } = request;
  const parts = input.shape.length - 1;
  return writeParams(fourierStruct, {
    x: input,
    window,
    y: output,
    outerRank: outer.length,
    outerSizes: sizesOf(outer),
    outerStridesX: stridesAt(outer, 0),
    outerStridesY: stridesAt(outer, 1),
    outer: productOf(outer),
    given: Math.min(input.shape[axis] ?? 0, length),
    length,
    bins: output.shape[axis] ?? 1,
    strideX: input.strides[axis] ?? 0,
    strideY: output.strides[axis] ?? 0,
    strideWindow: window?.strides[0] ?? 0,
    partStrideX: input.strides[parts] ?? 0,
    partStrideY: output.strides[parts] ?? 0,
    isComplexX: input.shape[parts] === 2,
    isComplexY: output.shape[parts] === 2,
    isInverse: request.isInverse,
    isMirrored: request.isMirrored,
    xType: storageTypes[input.type].code,
    yType: storageTypes[output.type].code,
    windowType: storageTypes[window?.type ?? "float32"].code,
  });
}
