/** @file The attributes of sliding windows as numbers: kernels, strides, dilations and what is padded. */
import { samePads } from "../../src/ops/window.ts";
import type { Attributes } from "./context.ts";

/** One entry a spatial axis. */
export interface SlidingWindow {
  readonly kernel: readonly number[];
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
  readonly padsBegin: readonly number[];
  readonly padsEnd: readonly number[];
}

function listed(
  context: Pick<Attributes, "ints" | "string">,
  name: string,
  length: number,
  fallback: number,
): readonly number[] {
  const values = context.ints(name);
  return values === undefined || values.length === 0 ? new Array<number>(length).fill(fallback) : values;
}

/** `input`: spatial sizes. Inference has checked that lengths agree. */
export function slidingWindow(
  context: Pick<Attributes, "ints" | "string">,
  kernel: readonly number[],
  input: readonly number[],
): SlidingWindow {
  const rank = kernel.length;
  const strides = listed(context, "strides", rank, 1);
  const dilations = listed(context, "dilations", rank, 1);
  const autoPad = context.string("auto_pad") ?? "";
  const pads = autoPad === "" || autoPad === "NOTSET" ? listed(context, "pads", 2 * rank, 0) : [];
  const both = kernel.map((taps, axis): readonly [number, number] => {
    if (autoPad !== "SAME_UPPER" && autoPad !== "SAME_LOWER")
      return [pads[axis] ?? 0, pads[axis + rank] ?? 0];
    return samePads(input[axis] ?? 1, taps, strides[axis] ?? 1, dilations[axis] ?? 1, autoPad);
  });
  return {
    kernel,
    strides,
    dilations,
    padsBegin: both.map(([begin]) => begin),
    padsEnd: both.map(([, end]) => end),
  };
}

/** What a transposed convolution cuts off in front of each spatial axis. */
export function transposedPads(
  context: Pick<Attributes, "ints" | "string">,
  kernel: readonly number[],
  input: readonly number[],
  output: readonly number[],
): number[] {
  const rank = kernel.length;
  const strides = listed(context, "strides", rank, 1);
  const dilations = listed(context, "dilations", rank, 1);
  const extra = listed(context, "output_padding", rank, 0);
  const autoPad = context.string("auto_pad") ?? "";
  const isStated = (context.ints("output_shape") ?? []).length > 0;
  const isSame = autoPad === "SAME_UPPER" || autoPad === "SAME_LOWER";
  if (!isStated && !isSame) {
    const pads = autoPad === "VALID" ? [] : listed(context, "pads", 2 * rank, 0);
    return kernel.map((_, axis) => pads[axis] ?? 0);
  }
  return kernel.map((taps, axis) => {
    const extent = (taps - 1) * (dilations[axis] ?? 1) + 1;
    const full = ((input[axis] ?? 1) - 1) * (strides[axis] ?? 1) + (extra[axis] ?? 0) + extent;
    const total = Math.max(0, full - (output[axis] ?? 0));
    return autoPad === "SAME_UPPER" ? Math.floor(total / 2) : total - Math.floor(total / 2);
  });
}
