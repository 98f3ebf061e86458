/** @file Pools whose positions are read from memory: unpooling, and regions of interest. */

import type { Emitter } from "../../ir/emitter.ts";
import { writeParams } from "../../ir/param-table.ts";
import { bytesOfType, storageTypes } from "../../ir/storage.ts";
import { elementCount, type View } from "../../ir/view.ts";
import { triple } from "../conv/spatial.ts";
import { regionStruct, unpoolStruct } from "./params.table.ts";

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
    params: writeParams(unpoolStruct, {
      x,
      indices,
      y: to,
      count,
      width: bytesOfType(x.type),
      size: [...to.shape.slice(0, 2), ...triple(to.shape.slice(2), 1)],
      from: [...counted.slice(0, 2), ...triple(counted.slice(2), 1)],
    }),
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
    params: writeParams(regionStruct, {
      x,
      regions,
      batches,
      y: to,
      threads: count,
      xType: storageTypes[x.type].code,
      yType: storageTypes[to.type].code,
      channels,
      height,
      width,
      batch,
      outHeight: to.shape[2] ?? 1,
      outWidth: to.shape[3] ?? 1,
      xStrides: x.strides,
      yStrides: to.strides,
      isMax: request.isMax,
      sampling: request.sampling,
      scale: request.scale,
      shift: request.shift,
      minOne: request.minOne,
    }),
    reads: batches === undefined ? [x, regions] : [x, regions, batches],
    writes: [to],
  });
}
