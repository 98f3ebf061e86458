/** @file Views as the kernels of convolutions and pools see them: batch, channels, depth, height, width. */

import type { ValuesOf } from "../../ir/param-table.ts";
import { storageTypes } from "../../ir/storage.ts";
import { alignmentOf, type View } from "../../ir/view.ts";
import type { divisorStruct } from "../common/params.table.ts";
import { divisorOf } from "../movement/walk.ts";
import type { placementStruct } from "./params.table.ts";

export type Triple = readonly [depth: number, height: number, width: number];

/** A view of [batch, channels, …spatial] with three spatial axes. Strides of axes of one element are 0. */
export interface Spatial {
  readonly view: View;
  readonly batch: number;
  readonly channels: number;
  readonly size: Triple;
  readonly batchStride: number;
  readonly channelStride: number;
  readonly strides: Triple;
}

export const maxSpatialRank = 3;

/** One entry a spatial axis, in front of which `fill` stands for the missing ones. */
export function triple(values: readonly number[], fill: number): Triple {
  const all = [fill, fill, fill, ...values].slice(-3);
  return [all[0] ?? fill, all[1] ?? fill, all[2] ?? fill];
}

/** [batch, channels, …spatial], one to three spatial axes. */
export function spatialOf(view: View): Spatial {
  const { shape } = view;
  const strides = view.strides.map((stride, axis) => (shape[axis] === 1 ? 0 : stride));
  return {
    view,
    batch: shape[0] ?? 1,
    channels: shape[1] ?? 1,
    size: triple(shape.slice(2), 1),
    batchStride: strides[0] ?? 0,
    channelStride: strides[1] ?? 0,
    strides: triple(strides.slice(2), 0),
  };
}

/** Its view with all three spatial axes. */
export function wholeView({
  view,
  batch,
  channels,
  size,
  batchStride,
  channelStride,
  strides,
}: Spatial): View {
  return { ...view, shape: [batch, channels, ...size], strides: [batchStride, channelStride, ...strides] };
}

/** Whether neighbouring channels lie side by side (or there is only one). */
export function isChannelsLast(spatial: Spatial): boolean {
  return spatial.channels === 1 || spatial.channelStride === 1;
}

/** Whether TMA can go through its positions: each axis of several elements leads on, and none repeats itself. */
export function isWalkable({ batch, size, batchStride, strides }: Spatial): boolean {
  return [batchStride, ...strides].every((stride, axis) => stride > 0 || [batch, ...size][axis] === 1);
}

/** Of a descriptor of planes: width, height, batch. Axes of one element have a stride of no matter, but a valid one. */
export function planeStrides({ channels, strides, batchStride }: Spatial): readonly number[] {
  const unit = Math.ceil(channels / 8) * 8;
  return [strides[2], strides[1], batchStride].map((stride) => (stride === 0 ? unit : stride));
}

/** Elements between positions that follow each other (batch, depth, height, width), if one stride says it; else 0. */
export function positionStride({ batch, size, batchStride, strides }: Spatial): number {
  const sizes = [batch, ...size];
  const all = [batchStride, ...strides];
  let step: number | undefined;
  let expected = 0;
  for (let axis = 3; axis >= 0; axis--) {
    const count = sizes[axis] ?? 1;
    if (count === 1) continue;
    const stride = all[axis] ?? 0;
    if (step === undefined) step = stride;
    else if (stride !== expected) return 0;
    expected = stride * count;
  }
  return step ?? 1;
}

/** Channels that a kernel may read or write at once: 8, 2 or 1. `perGroup`: of those that belong together. */
export function vectorWidth(spatial: Spatial, perGroup: number): 8 | 2 | 1 {
  if (spatial.channelStride !== 1) return 1;
  const offsets = [spatial.view.offset, spatial.batchStride, ...spatial.strides, perGroup];
  if (offsets.every((offset) => offset % 8 === 0)) return 8;
  return offsets.every((offset) => offset % 2 === 0) ? 2 : 1;
}

/** Bytes that every run of channels is aligned to, up to 16. */
export function channelAlignment(spatial: Spatial): number {
  return alignmentOf(spatial.view, 1);
}

type Placement = ValuesOf<typeof placementStruct>;

const nowhere: Placement = { batch: 0, axes: [0, 0, 0], channel: 0, position: 0, type: 0, width: 0 };

/** Zeros for an absent view. */
export function placementFields(spatial: Spatial | undefined, perGroup: number): Placement {
  if (spatial === undefined) return nowhere;
  return {
    batch: spatial.batchStride,
    axes: spatial.strides,
    channel: spatial.channelStride,
    position: positionStride(spatial),
    type: storageTypes[spatial.view.type].code,
    width: vectorWidth(spatial, perGroup),
  };
}

export function divisorFields(size: number): ValuesOf<typeof divisorStruct> {
  return { size, ...divisorOf(size) };
}
