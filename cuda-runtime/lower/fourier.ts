/** @file DFT, STFT, window functions and MelWeightMatrix. */

import { isFloatStorage, storageTypes } from "../ir/storage.ts";
import type { View } from "../ir/view.ts";
import { emitFourier } from "../kernels/fourier/fourier.ts";
import type { LowerContext, LowerTable } from "./context.ts";

/** Of cosines; Hamming's as ONNX has them, not the rounded ones of other definitions. */
export const windowCoefficients = {
  HannWindow: [0.5, 0.5],
  HammingWindow: [25 / 46, 21 / 46],
  BlackmanWindow: [0.42, 0.5, 0.08],
} as const;

export const fourierLowerings: LowerTable = {
  DFT: lowerDft,
  STFT: lowerStft,
  HannWindow: (context) => lowerWindow(context, windowCoefficients.HannWindow),
  HammingWindow: (context) => lowerWindow(context, windowCoefficients.HammingWindow),
  BlackmanWindow: (context) => lowerWindow(context, windowCoefficients.BlackmanWindow),
  MelWeightMatrix: lowerMelWeights,
};

/** The signal in memory, in a type that the kernel computes in. */
function signalOf(context: LowerContext): View {
  const view = context.input(0);
  if (!isFloatStorage(view.type) && view.type !== "float64")
    context.fail(`the signal is ${view.type}, expected a float`);
  return view;
}

function lowerDft(context: LowerContext): void {
  const input = signalOf(context);
  const rank = input.shape.length;
  const isInverse = context.int("inverse") === 1;
  const isOneSided = context.int("onesided") === 1;
  const axis = transformedAxis(context, rank);
  const samples = input.shape[axis] ?? 1;
  const given = context.hasInput(1) ? context.knownElements(1)[0] : undefined;
  const isMirrored = isInverse && isOneSided;
  emitFourier(context, {
    input,
    output: context.output(0),
    axis,
    length: given ?? (isMirrored ? 2 * (samples - 1) : samples),
    window: undefined,
    isInverse,
    isMirrored,
  });
}

/** An attribute before opset 20, an input since. */
function transformedAxis(context: LowerContext, rank: number): number {
  const named =
    context.opset < 20 ? (context.int("axis") ?? 1) : context.hasInput(2) ? context.knownElements(2)[0] : -2;
  if (named === undefined) return context.fail("the axis is not known");
  return named < 0 ? named + rank : named;
}

/** Frames of the signal as a view in which they overlap: [batch, frames, samples, parts]. */
function lowerStft(context: LowerContext): void {
  const signal = signalOf(context);
  const [batch = 0, , parts = 1] = signal.shape;
  const [batchStride = 0, stride = 0, partStride = 0] = signal.strides;
  const [, frames = 0] = context.outputShape(0);
  const [step] = context.knownElements(1);
  const window = context.hasInput(2) ? context.input(2) : undefined;
  const length = context.hasInput(3) ? context.knownElements(3)[0] : window?.shape[0];
  if (step === undefined || length === undefined)
    return context.fail("frame_step and frame_length are not known");
  if (window !== undefined && window.shape[0] !== length) {
    context.fail(`the window has ${window.shape[0]} elements, expected the frame's ${length}`);
  }
  emitFourier(context, {
    input: {
      ...signal,
      shape: [batch, frames, length, parts],
      strides: [batchStride, stride * step, stride, partStride],
    },
    output: context.output(0),
    axis: 2,
    length,
    window,
    isInverse: false,
    isMirrored: false,
  });
}

function lowerWindow(context: LowerContext, coefficients: readonly number[]): void {
  const [size = 0] = context.outputShape(0);
  setConstant(context, windowValues(coefficients, size, context.int("periodic") !== 0));
}

/** Σ (-1)^i c_i cos(2π i n / N), N the size, or one less for a symmetric window. */
export function windowValues(coefficients: readonly number[], size: number, isPeriodic: boolean): number[] {
  const period = Math.max(1, isPeriodic ? size : size - 1);
  const term = (factor: number, i: number, n: number) =>
    (i % 2 === 0 ? factor : -factor) * Math.cos((2 * Math.PI * i * n) / period);
  return Array.from({ length: size }, (_, n) =>
    coefficients.reduce((total, factor, i) => total + term(factor, i, n), 0),
  );
}

function setConstant(context: LowerContext, values: readonly number[]): void {
  const type = context.outputType(0);
  const isFloat = storageTypes[type].kind === "float";
  const stored = isFloat ? values : values.map(Math.trunc);
  context.setOutput(0, context.constant(type, context.outputShape(0), stored));
}

const melBreak = 700;
const melFactor = 2595;

function lowerMelWeights(context: LowerContext): void {
  const scalar = (index: number) =>
    context.knownElements(index)[0] ?? context.fail(`input ${index} is empty`);
  setConstant(context, melWeights(scalar(0), scalar(1), scalar(2), scalar(3), scalar(4)));
}

/** [bins, bands]: triangles between points equally far apart on the mel scale. Rate and edges in Hz. */
export function melWeights(
  bands: number,
  length: number,
  rate: number,
  lowest: number,
  highest: number,
): number[] {
  const bins = Math.floor(length / 2) + 1;
  const mel = (hertz: number) => melFactor * Math.log10(1 + hertz / melBreak);
  const [low, high] = [mel(lowest), mel(highest)];
  const points = Array.from({ length: bands + 2 }, (_, i) => {
    const hertz = melBreak * (10 ** ((low + (i * (high - low)) / (bands + 2)) / melFactor) - 1);
    return Math.floor(((length + 1) * hertz) / rate);
  });
  return Array.from({ length: bins * bands }, (_, at) => {
    const [bin, band] = [Math.floor(at / bands), at % bands];
    return triangle(bin, points[band] ?? 0, points[band + 1] ?? 0, points[band + 2] ?? 0);
  });
}

/** Rises from `left` to 1 at `top`, falls to 0 at `right`, which is left out. */
function triangle(bin: number, left: number, top: number, right: number): number {
  if (left === top ? bin === top : bin >= left && bin <= top) {
    return left === top ? 1 : (bin - left) / (top - left);
  }
  return bin > top && bin < right ? (right - bin) / (right - top) : 0;
}
