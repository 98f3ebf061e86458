/** @file Elements whose coordinates along some axes are in an index tensor. */

import { bytesMoved, passMicroseconds } from "../../cost/predict.ts";
import type { Emitter } from "../../ir/emitter.ts";
import { maxRank, ParamWriter } from "../../ir/params.ts";
import { bytesOfType } from "../../ir/storage.ts";
import { elementCount, type View } from "../../ir/view.ts";
import { walkLaunch, writeWalk } from "./launch.ts";
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
  const params = writeWalk(new ParamWriter().pointer(from).pointer(indices).pointer(to), walk);
  for (const operand of [0, 1, 2]) params.i32s(stridesAlong(walk, operand), maxRank);
  writeLookup(params, request, walk.factor);
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
    predictedMicroseconds: passMicroseconds({ bytes }, emitter.target),
  });
}

/** `Lookup` of movement.cu. Strides in units of `factor` elements. */
export function writeLookup(
  params: ParamWriter,
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
): ParamWriter {
  return params
    .i32(lookup.length, bytesOfType(indices.type), depthStride)
    .i32s(
      lookup.map(({ size }) => size),
      maxRank,
    )
    .i32s(
      lookup.map(({ stride }) => stride / factor),
      maxRank,
    );
}
