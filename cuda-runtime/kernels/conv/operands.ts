/** @file What a convolution's kernel reads: x with channels last, weights packed, and the table of a gathering kernel. */
import { pushAll } from "../../../src/ir/lists.ts";
import type { Emitter } from "../../ir/emitter.ts";
import type { Epilogue } from "../../ir/epilogue.ts";
import type { PlanTarget } from "../../ir/step.ts";
import { bytesOfType, type FloatStorage } from "../../ir/storage.ts";
import { channelsLastOrder, imaginedView, reshaped, sliced, type View } from "../../ir/view.ts";
import { packedPitch } from "../gemm/pack.ts";
import { copyMicroseconds } from "../transpose/transpose.ts";
import type { ConvChoice } from "./choose.ts";
import { packParams, type Window } from "./params.ts";
import { type Spatial, spatialOf, type Triple, triple } from "./spatial.ts";
import { type ConvMath, elementBytes } from "./table.ts";

/** One to three spatial axes; any strides; any float types. */
export interface ConvRequest {
  /** [N, C, …spatial] */
  readonly x: View;
  /** [K, C / groups, …taps] */
  readonly w: View;
  /** [N, K, …positions] */
  readonly to: View;
  /** One entry a spatial axis. Padding in front may be negative; padding behind follows from the output's size. */
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
  readonly pads: readonly number[];
  readonly groups: number;
  /** What x and w are rounded to before they are multiplied; x's own type unless given. */
  readonly operands?: FloatStorage | undefined;
  readonly epilogue: Epilogue;
}

/** The request in three spatial axes. */
export interface Parts {
  readonly request: ConvRequest;
  readonly math: ConvMath;
  readonly y: Spatial;
  readonly w: Spatial;
  readonly window: Window;
  /** Of one group. */
  readonly channels: number;
  readonly filters: number;
}

export const storageOf: Readonly<Record<ConvMath, FloatStorage>> = {
  f16: "float16",
  bf16: "bfloat16",
  tf32: "float32",
  f32: "float32",
};

export function partsFor(request: ConvRequest, math: ConvMath): Parts {
  const w = spatialOf(request.w);
  const window: Window = {
    kernel: w.size,
    stride: triple(request.strides, 1),
    dilation: triple(request.dilations, 1),
    pad: triple(request.pads, 0),
  };
  return {
    ...{ request, math, w, window },
    y: spatialOf(request.to),
    channels: w.channels,
    filters: w.batch / request.groups,
  };
}

export function tapsOf({ window }: Parts): number {
  return window.kernel[0] * window.kernel[1] * window.kernel[2];
}

/** x as the kernel reads it. */
export interface Source {
  readonly x: Spatial;
  readonly groupStride: number;
}

/**
 * x with channels last, those of each group padded so that they start on 16 bytes, or as TMA fetches them fastest where it does (`isBoxed`). What is between
 * is never read.
 */
export function copied(
  emitter: Emitter,
  x: View,
  groups: number,
  type: FloatStorage,
  isBoxed: boolean,
): Source {
  const { shape, padded, perGroup } = paddedShape(x, groups, type, isBoxed);
  const all = emitter.temporary(type, shape, channelsLastOrder(shape.length));
  emitter.copy(...groupwise(x, all, groups, padded));
  return { x: spatialOf(sliced(all, 1, 0, perGroup)), groupStride: padded };
}

/** Predicted, of what `copied` launches. */
export function copyMicrosecondsOf(x: View, groups: number, type: FloatStorage, target: PlanTarget): number {
  const { shape, padded } = paddedShape(x, groups, type, false);
  const all = imaginedView(type, shape, channelsLastOrder(shape.length));
  return copyMicroseconds(...groupwise(x, all, groups, padded), target);
}

function paddedShape(x: View, groups: number, type: FloatStorage, isBoxed: boolean) {
  const [batch = 1, channels = 1, ...size] = x.shape;
  const perGroup = channels / groups;
  const perChunk = 16 / bytesOfType(type);
  const padded = isBoxed
    ? packedPitch(perGroup, bytesOfType(type))
    : Math.ceil(perGroup / perChunk) * perChunk;
  return { shape: [batch, groups * padded, ...size], padded, perGroup };
}

/** x, and where it goes in `all`: [batch, groups, channels of a group, …spatial]. */
function groupwise(x: View, all: View, groups: number, padded: number): readonly [View, View] {
  const [batch = 1, channels = 1, ...size] = x.shape;
  const byGroup = (view: View, count: number) => {
    const split = reshaped(view, [batch, groups, count, ...size]);
    if (split === undefined) throw new Error("tc-lint bug: an axis cannot be split");
    return split;
  };
  const perGroup = channels / groups;
  return [byGroup(x, perGroup), sliced(byGroup(all, padded), 2, 0, perGroup)];
}

/** In pieces of 16 bytes: of a filter, and of each of its taps. */
interface PackedSize {
  readonly chunks: number;
  readonly chunksPerTap: number;
  readonly planar: boolean;
}

/** Weights in the order that the kernel reads them. */
export function packed(
  emitter: Emitter,
  parts: Parts,
  { tile, merge }: ConvChoice,
  { chunks, chunksPerTap, planar }: PackedSize,
): View {
  const { w, math, filters, channels } = parts;
  const perChunk = 16 / elementBytes(math);
  const pitch = chunks * perChunk;
  const to = emitter.temporary(storageOf[math], [w.batch, Math.max(1, pitch)]);
  if (pitch === 0) return to;
  const merged = channels * merge;
  const tapPitch = tile.grain > 0 ? chunksPerTap * perChunk : planar ? 0 : merged;
  const count = w.batch * pitch;
  emitter.launch({
    kernel: { kind: "built", family: "conv", entry: "conv_pack" },
    grid: [Math.ceil(count / 256), 1, 1],
    block: [256, 1, 1],
    sharedBytes: 0,
    params: packParams({ w, to, tf32: math === "tf32", filters, channels, merge, pitch, tapPitch }),
    reads: [w.view],
    writes: [to],
    detail: "weights packed",
  });
  return to;
}

/** Of each element that is summed over: its offset in x, and its tap as gather.cuh packs it; -1 beyond the last one. */
export function gatherTable(
  emitter: Emitter,
  parts: Parts,
  { x, channels, planar }: { readonly x: Spatial; readonly channels: number; readonly planar: boolean },
): View {
  const { window, math } = parts;
  const taps = tapsOf(parts);
  const perChunk = 16 / elementBytes(math);
  const count = Math.ceil((taps * channels) / perChunk) * perChunk;
  const values: number[] = [];
  for (let k = 0; k < count; k++) {
    const tap = planar ? k % taps : Math.floor(k / channels);
    const channel = planar ? Math.floor(k / taps) : k % channels;
    if (k >= taps * channels) values.push(0, -1);
    else pushAll(values, tableEntry(x, window, tap, channel));
  }
  return emitter.constant("int32", [Math.max(1, count), 2], count === 0 ? [0, -1] : values);
}

function tableEntry(x: Spatial, { kernel, dilation }: Window, tap: number, channel: number): number[] {
  const at: Triple = [
    Math.floor(tap / kernel[2] / kernel[1]) * dilation[0],
    (Math.floor(tap / kernel[2]) % kernel[1]) * dilation[1],
    (tap % kernel[2]) * dilation[2],
  ];
  const offset =
    at[0] * x.strides[0] + at[1] * x.strides[1] + at[2] * x.strides[2] + channel * x.channelStride;
  return [offset, (at[0] << 20) | (at[1] << 10) | at[2]];
}
