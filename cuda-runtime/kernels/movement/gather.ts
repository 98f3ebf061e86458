/** @file Elements whose coordinates along some axes are in an index tensor. */

import { bytesMoved, passMicroseconds } from "../../cost/predict.ts";
import type { Emitter } from "../../ir/emitter.ts";
import { type ValuesOf, writeParams } from "../../ir/param-table.ts";
import { bytesOfType } from "../../ir/storage.ts";
import { elementCount, type View } from "../../ir/view.ts";
import { walkFields, walkLaunch } from "./launch.ts";
import { gatherStruct, type lookupStruct } from "./params.table.ts";
import { stridesAlong, type WalkAxis, walkOver } from "./walk.ts";

/** An axis that is looked into: its size, and its stride in the tensor that has it, in elements. */
export interface LookupAxis {
  readonly size: number;
  readonly stride: number;
}

/**
 * The element at a position p of `to` is from[Σ p·fromStrides + Σ index_k·lookup_k.stride], with
 * index_k = indices[Σ p·indexStrides + k·depthStride].
 */
export interface GatherRequest {
  readonly from: View;
  /** int32 or int64; negative ones count from the end of the axis. Beyond it: the nearest position. */
  readonly indices: View;
  readonly to: View;
  /** By axis of `to`. */
  readonly fromStrides: readonly number[];
  readonly indexStrides: readonly number[];
  readonly lookup: readonly LookupAxis[];
  /** From one coordinate of a position to the next, in `indices`. */
  readonly depthStride: number;
}

export function emitGather(emitter: Emitter, request: GatherRequest): void {
  const { from, indices, to, lookup } = request;
  if (elementCount(to.shape) === 0) return;
  const axes = to.shape.map(
    (size, axis): WalkAxis => ({
      size,
      strides: [request.fromStrides[axis] ?? 0, request.indexStrides[axis] ?? 0, to.strides[axis] ?? 0],
    }),
  );
  const walk = walkOver(axes, 2, [
    { view: from, operand: 0, more: lookup.map(({ stride }) => stride) },
    { view: to, operand: 2, more: [] },
  ]);
  const params = writeParams(gatherStruct, {
    from,
    indices,
    to,
    walk: walkFields(walk),
    fromStrides: stridesAlong(walk, 0),
    indexStrides: stridesAlong(walk, 1),
    toStrides: stridesAlong(walk, 2),
    lookup: lookupFields(request, walk.factor),
  });
  // Of a table, only the rows that are asked for.
  const bytes = bytesMoved([indices, to]) + Math.min(bytesMoved([from]), bytesMoved([to]));
  emitter.launch({
    ...walkLaunch({
      entry: `gather_w${walk.width}`,
      count: walk.count,
      params,
      reads: [from, indices],
      writes: [to],
    }),
    movedBytes: bytes,
    predictedMicroseconds: passMicroseconds({ bytes }, emitter.target),
  });
}

/** Strides in units of `factor` elements. */
export function lookupFields(
  {
    indices,
    lookup,
    depthStride,
  }: {
    readonly indices: View;
    readonly lookup: readonly LookupAxis[];
    readonly depthStride: number;
  },
  factor: number,
): ValuesOf<typeof lookupStruct> {
  return {
    depth: lookup.length,
    indexBytes: bytesOfType(indices.type),
    depthStride,
    sizes: lookup.map(({ size }) => size),
    strides: lookup.map(({ stride }) => stride / factor),
  };
}
