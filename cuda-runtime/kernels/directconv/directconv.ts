/** @file Convolutions that are no product of matrices: of codes with zero points, and with offsets of their taps. */

import type { Emitter } from "../../ir/emitter.ts";
import { ParamWriter } from "../../ir/params.ts";
import type { Launch } from "../../ir/step.ts";
import { storageTypes } from "../../ir/storage.ts";
import { elementCount, type View } from "../../ir/view.ts";
import { type Spatial, spatialOf, triple } from "../conv/spatial.ts";

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
  const params = new ParamWriter()
    .pointer(x)
    .pointer(w)
    .pointer(xZero)
    .pointer(wZero)
    .pointer(to)
    .i32(count, code(x), code(w), code(xZero), code(wZero))
    .i32(wZero === undefined || elementCount(wZero.shape) === 1 ? 0 : (wZero.strides[0] ?? 0))
    .i32(y.channels, y.channels / groups, weights.channels)
    .i32(...weights.size, ...from.size, ...y.size, ...triple(request.strides, 1))
    .i32(...triple(request.dilations, 1), ...triple(request.pads, 0));
  for (const spatial of [from, weights, y]) params.i32(...stridesOf(spatial));
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
  params: ParamWriter,
  reads: readonly (View | undefined)[],
  to: View,
  flops: number,
): Launch {
  return {
    kernel: { kind: "built", family: "directconv", entry },
    grid: [Math.ceil(count / threads), 1, 1],
    block: [threads, 1, 1],
    sharedBytes: 0,
    params: params.done(),
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
  const [, channels = 1, ...size] = x.shape;
  const code = (view: View | undefined) => (view === undefined ? 0 : storageTypes[view.type].code);
  const params = new ParamWriter();
  for (const view of [x, w, offsets, mask, bias, to]) params.pointer(view);
  params
    .i32(count, code(x), code(w), code(offsets), code(mask), code(bias), code(to))
    .i32(filters, filters / groups, perGroup, channels / request.sets)
    .i32(...size, ...to.shape.slice(2), ...kernel)
    .i32(...request.strides, ...request.dilations, ...request.pads);
  for (const view of [x, w, offsets, mask, to]) params.i32s(view?.strides ?? [], 4);
  params.i32(bias?.strides[0] ?? 0);
  const flops = 2 * count * elementCount(w.shape.slice(1));
  emitter.launch(launchOf("directconv_deform", count, params, [x, w, offsets, mask, bias], to, flops));
}
