/** @file Sliding windows over spatial axes: what convolutions and pools share. */

import { addDims, ceilDivDims, type Dim, floorDivDims, mulDims, subDims } from "../ir/dim.ts";
import { textOf } from "../ir/message.ts";
import { type OpContext, ShapeError } from "./op.ts";

const autoPads = ["NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"] as const;
export type AutoPad = (typeof autoPads)[number];

/** One entry per spatial axis. With SAME_*, the pads depend on the input: `samePads` gives them. */
export interface Window {
  readonly kernel: readonly Dim[];
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
  readonly padsBegin: readonly number[];
  readonly padsEnd: readonly number[];
  readonly autoPad: AutoPad;
}

/** The attributes strides, dilations, pads and auto_pad, with their defaults. Throws where one contradicts the rank. */
export function resolveWindow(context: OpContext, spatialRank: number, kernel: readonly Dim[]): Window {
  if (kernel.length !== spatialRank) {
    throw new ShapeError(textOf`kernel has ${kernel.length} axes, the input has ${spatialRank} spatial axes`);
  }
  const autoPad = autoPadOf(context);
  const pads = autoPad === "NOTSET" ? perAxis(context, "pads", 2 * spatialRank, 0) : [];
  const padsOf = (from: number) =>
    autoPad === "NOTSET" ? pads.slice(from, from + spatialRank) : new Array<number>(spatialRank).fill(0);
  return {
    kernel,
    strides: positive("strides", perAxis(context, "strides", spatialRank, 1)),
    dilations: positive("dilations", perAxis(context, "dilations", spatialRank, 1)),
    padsBegin: padsOf(0),
    padsEnd: padsOf(spatialRank),
    autoPad,
  };
}

function autoPadOf(context: OpContext): AutoPad {
  const text = context.string("auto_pad") ?? "NOTSET";
  // An empty string is what some exporters write for "not set".
  const autoPad = text === "" ? "NOTSET" : autoPads.find((name) => name === text);
  if (autoPad === undefined)
    throw new ShapeError(textOf`auto_pad is "${text}", expected ${autoPads.join(", ")}`);
  return autoPad;
}

function perAxis(context: OpContext, name: string, length: number, fallback: number): readonly number[] {
  const values = context.ints(name);
  if (values === undefined || values.length === 0) return new Array<number>(length).fill(fallback);
  if (values.length !== length) {
    throw new ShapeError(textOf`${name} has ${values.length} entries, expected ${length}`);
  }
  return values;
}

function positive(name: string, values: readonly number[]): readonly number[] {
  if (values.some((value) => value < 1)) {
    throw new ShapeError(textOf`${name} are ${values}, expected positive numbers`);
  }
  return values;
}

/** Spatial sizes of the output, for spatial sizes of the input. */
export function windowOutputs(window: Window, input: readonly Dim[], ceilMode = false): Dim[] {
  return input.map((size, axis) => {
    const stride = window.strides[axis] ?? 1;
    if (window.autoPad === "SAME_UPPER" || window.autoPad === "SAME_LOWER") return ceilDivDims(size, stride);
    return windowOutput(
      size,
      window.kernel[axis] ?? 1,
      stride,
      window.dilations[axis] ?? 1,
      window.padsBegin[axis] ?? 0,
      window.padsEnd[axis] ?? 0,
      ceilMode,
    );
  });
}

/**
 * Positions of a window along one axis. With `ceilMode` a last, partial window counts, unless it would start in the
 * padding after the input (said by the operators from opset 19 on, and done by runtimes for all opsets).
 * Throws where the window is larger than the padded input.
 */
export function windowOutput(
  input: Dim,
  kernel: Dim,
  stride: number,
  dilation: number,
  padBegin: number,
  padEnd: number,
  ceilMode = false,
): Dim {
  const extent = windowExtent(kernel, dilation);
  const positions = ceilMode
    ? ceilPositions(input, extent, stride, padBegin, padEnd)
    : // One division for "how often can it move, plus one": equal sizes then get equal expressions.
      floorDivDims(addDims(subDims(addDims(input, padBegin + padEnd), extent), stride), stride);
  if (typeof positions !== "number" || positions > 0) return positions;
  if (input === 0) return 0;
  throw new ShapeError(
    textOf`a window of ${extent} does not fit into ${input} elements padded by ${padBegin} and ${padEnd}`,
  );
}

/** Starts lie below input + padBegin, and at most one stride past the last window that fits. */
function ceilPositions(input: Dim, extent: Dim, stride: number, padBegin: number, padEnd: number): Dim {
  if (typeof extent === "number") {
    return ceilDivDims(addDims(input, padBegin + Math.min(0, padEnd - extent + stride)), stride);
  }
  const slack = subDims(addDims(input, padBegin + padEnd), extent);
  return addDims(ceilDivDims(slack, stride), 1);
}

/** Elements from a window's first to its last tap, both included. */
export function windowExtent(kernel: Dim, dilation: number): Dim {
  return addDims(mulDims(subDims(kernel, 1), dilation), 1);
}

/** Pads before and after one axis for SAME_*: the output has ⌈input / stride⌉ positions, the odd pad goes last for UPPER. */
export function samePads(
  input: number,
  kernel: number,
  stride: number,
  dilation: number,
  autoPad: "SAME_UPPER" | "SAME_LOWER",
): readonly [begin: number, end: number] {
  const extent = (kernel - 1) * dilation + 1;
  const total = Math.max(0, (Math.ceil(input / stride) - 1) * stride + extent - input);
  const smaller = Math.floor(total / 2);
  return autoPad === "SAME_UPPER" ? [smaller, total - smaller] : [total - smaller, smaller];
}
