/** @file Pools whose positions are read from memory: unpooling, and regions of interest. */

import type { Emitter } from "../../ir/emitter.ts";
import { ParamWriter } from "../../ir/params.ts";
import { bytesOfType, storageTypes } from "../../ir/storage.ts";
import { elementCount, type View } from "../../ir/view.ts";
import { triple } from "../conv/spatial.ts";

/** All packed, row-major. */
export interface UnpoolRequest {
  /** [N, C, …] */
  readonly x: View;
  /** Of x's shape, int64: positions in a tensor of `counted`. */
  readonly indices: View;
  /** [N, C, …] of any sizes. */
  readonly to: View;
  readonly counted: readonly number[];
}

const unpoolThreads = 256;
const regionThreads = 128;

/** Elements of x where the indices say, zeros elsewhere. */
export function emitUnpool(emitter: Emitter, { x, indices, to, counted }: UnpoolRequest): void {
  if (elementCount(to.shape) === 0) return;
  emitter.clear(to);
  const count = elementCount(x.shape);
  if (count === 0) return;
  emitter.launch({
    kernel: { kind: "built", family: "pool", entry: "pool_unpool" },
    grid: [Math.ceil(count / unpoolThreads), 1, 1],
    block: [unpoolThreads, 1, 1],
    sharedBytes: 0,
    params: new ParamWriter()
      .pointer(x)
      .pointer(indices)
      .pointer(to)
      .i32(count, bytesOfType(x.type))
      .i32(...to.shape.slice(0, 2), ...triple(to.shape.slice(2), 1))
      .i32(...counted.slice(0, 2), ...triple(counted.slice(2), 1))
      .done(),
    // What was cleared is kept, so it is read.
    reads: [x, indices, to],
    writes: [to],
  });
}

export interface RoiPoolRequest {
  readonly entry: "pool_roi_align" | "pool_max_roi";
  /** [N, C, H, W], a float type, any strides. */
  readonly x: View;
  /** [R, 4], or [R, 5] with the image first; float32, packed. */
  readonly regions: View;
  /** [R], int64, packed; undefined where `regions` says it. */
  readonly batches: View | undefined;
  /** [R, C, height, width], a float type, any strides. */
  readonly to: View;
  readonly isMax: boolean;
  /** Points of a bin along an axis; 0: as many as its elements. */
  readonly sampling: number;
  readonly scale: number;
  /** What is subtracted from scaled coordinates. */
  readonly shift: number;
  /** Whether regions are at least one element wide. */
  readonly minOne: boolean;
}

export function emitRoiPool(emitter: Emitter, request: RoiPoolRequest): void {
  const { entry, x, regions, batches, to } = request;
  const count = elementCount(to.shape);
  if (count === 0) return;
  const [batch = 1, channels = 1, height = 1, width = 1] = x.shape;
  emitter.launch({
    kernel: { kind: "built", family: "pool", entry },
    grid: [Math.ceil(count / regionThreads), 1, 1],
    block: [regionThreads, 1, 1],
    sharedBytes: 0,
    params: new ParamWriter()
      .pointer(x)
      .pointer(regions)
      .pointer(batches)
      .pointer(to)
      .i32(count, storageTypes[x.type].code, storageTypes[to.type].code)
      .i32(channels, height, width, batch, to.shape[2] ?? 1, to.shape[3] ?? 1)
      .i32s(x.strides, 4)
      .i32s(to.strides, 4)
      .i32(request.isMax ? 1 : 0, request.sampling)
      .f32(request.scale, request.shift)
      .i32(request.minOne ? 1 : 0)
      .done(),
    reads: batches === undefined ? [x, regions] : [x, regions, batches],
    writes: [to],
  });
}
