/** @file Convolutions that are no product of matrices: of codes with zero points, and with offsets of their taps. */

import type { Emitter } from "../../ir/emitter.ts";
import { writeParams } from "../../ir/param-table.ts";
import type { ParamBlock } from "../../ir/params.ts";
import type { Launch } from "../../ir/step.ts";
import { storageTypes } from "../../ir/storage.ts";
import { elementCount, type View } from "../../ir/view.ts";
import { type Spatial, spatialOf, triple } from "../conv/spatial.ts";
import { deformConvStruct, integerConvStruct } from "./params.table.ts";

const threads = 128;

interface Window {
  /** One entry a spatial axis; pads are those in front. */
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
  readonly pads: readonly number[];
}

export interface IntegerConvRequest extends Window {
  /** [N, C, …spatial], int8 or uint8, any strides, one to three spatial axes. */
  readonly x: View;
  /** [K, C / groups, …taps], likewise. */
  readonly w: View;
  /** Of one element, int8 or uint8. */
  readonly xZero: View | undefined;
  /** Of one element, or [K]. */
  readonly wZero: View | undefined;
  /** [N, K, …positions], int32. */
  readonly to: View;
  readonly groups: number;
}

/** Σ (x − xZero) (w − wZero); what is padded is xZero. */
export function emitIntegerConv(emitter: Emitter, request: IntegerConvRequest): void {
  const { x, w, xZero, wZero, to, groups } = request;
  const count = elementCount(to.shape);
  if (count === 0) return;
  const [from, weights, y] = [spatialOf(x), spatialOf(w), spatialOf(to)];
  const code = (view: View | undefined) => (view === undefined ? 0 : storageTypes[view.type].code);
  const params = writeParams(integerConvStruct, {
    x,
    w,
    xZero,
    wZero,
    y: to,
    threads: count,
    xType: code(x),
    wType: code(w),
    xZeroType: code(xZero),
    wZeroType: code(wZero),
    wZeroStride: wZero === undefined || elementCount(wZero.shape) === 1 ? 0 : (wZero.strides[0] ?? 0),
    filters: y.channels,
    filtersPerGroup: y.channels / groups,
    channels: weights.channels,
    kernel: weights.size,
    input: from.size,
    output: y.size,
    stride: triple(request.strides, 1),
    dilation: triple(request.dilations, 1),
    pad: triple(request.pads, 0),
    xStrides: stridesOf(from),
    wStrides: stridesOf(weights),
    yStrides: stridesOf(y),
  });
  emitter.launch(
    launchOf(
      "directconv_integer",
      count,
      params,
      [x, w, xZero, wZero],
      to,
      2 * count * elementCount(w.shape.slice(1)),
    ),
  );
}

function stridesOf({ batchStride, channelStride, strides }: Spatial): number[] {
  return [batchStride, channelStride, ...strides];
}

function launchOf(
  entry: string,
  count: number,
  params: ParamBlock,
  reads: readonly (View | undefined)[],
  to: View,
  flops: number,
): Launch {
  return {
    kernel: { kind: "built", family: "directconv", entry },
    grid: [Math.ceil(count / threads), 1, 1],
    block: [threads, 1, 1],
    sharedBytes: 0,
    params,
    reads: reads.filter((view) => view !== undefined),
    writes: [to],
    flops,
  };
}

export interface DeformConvRequest extends Window {
  /** [N, C, H, W]; this and all others of any float type and strides. */
  readonly x: View;
  /** [K, C / groups, kH, kW] */
  readonly w: View;
  /** [N, sets · kH · kW · 2, H′, W′] */
  readonly offsets: View;
  /** [N, sets · kH · kW, H′, W′] */
  readonly mask: View | undefined;
  /** [K] */
  readonly bias: View | undefined;
  /** [N, K, H′, W′] */
  readonly to: View;
  readonly groups: number;
  /** Of offsets: each for as many channels. */
  readonly sets: number;
}

export function emitDeformConv(emitter: Emitter, request: DeformConvRequest): void {
  const { x, w, offsets, mask, bias, to, groups } = request;
  const count = elementCount(to.shape);
  if (count === 0) return;
  const [filters = 1, perGroup = 1, ...kernel] = w.shape;
  const [, channels = 1, height = 1, width = 1] = x.shape;
  const code = (view: View | undefined) => (view === undefined ? 0 : storageTypes[view.type].code);
  const params = writeParams(deformConvStruct, {
    x,
    w,
    offsets,
    mask,
    bias,
    y: to,
    threads: count,
    xType: code(x),
    wType: code(w),
    offsetType: code(offsets),
    maskType: code(mask),
    biasType: code(bias),
    yType: code(to),
    filters,
    filtersPerGroup: filters / groups,
    channels: perGroup,
    channelsPerOffset: channels / request.sets,
    height,
    width,
    outHeight: to.shape[2] ?? 1,
    outWidth: to.shape[3] ?? 1,
    kernel,
    stride: request.strides,
    dilation: request.dilations,
    pad: request.pads,
    xStrides: x.strides,
    wStrides: w.strides,
    offsetStrides: offsets.strides,
    maskStrides: mask?.strides ?? [],
    yStrides: to.strides,
    biasStride: bias?.strides[0] ?? 0,
  });
  const flops = 2 * count * elementCount(w.shape.slice(1));
  emitter.launch(launchOf("directconv_deform", count, params, [x, w, offsets, mask, bias], to, flops));
}
