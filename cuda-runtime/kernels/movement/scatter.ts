/** @file Updates written to, or combined with, elements that an index tensor names. */

import type { Emitter } from "../../ir/emitter.ts";
import { writeParams } from "../../ir/param-table.ts";
import type { ParamBlock } from "../../ir/params.ts";
import { elementCount, stridesOf, type View } from "../../ir/view.ts";
import { type LookupAxis, lookupFields } from "./gather.ts";
import { walkFields, walkLaunch } from "./launch.ts";
import { scatterReduceStruct, scatterRowsStruct, scatterStruct } from "./params.table.ts";
import { stridesAlong, type Walk, type WalkAxis, walkOver } from "./walk.ts";

/** Codes are `Reduction` in movement.cu. */
export const reductions = { add: 0, mul: 1, min: 2, max: 3 } as const;
export type Reduction = keyof typeof reductions;

/**
 * The update at position p goes to to[Σ p·toStrides + Σ index_k·lookup_k.stride], with
 * index_k = indices[Σ p·indexStrides + k·depthStride]. `to` holds the data already.
 */
export interface ScatterRequest {
  readonly updates: View;
  /** int32 or int64; negative ones count from the end of the axis. */
  readonly indices: View;
  readonly to: View;
  /** By axis of `updates`. */
  readonly indexStrides: readonly number[];
  readonly toStrides: readonly number[];
  readonly lookup: readonly LookupAxis[];
  readonly depthStride: number;
  /** No two updates go to one place. */
  readonly isDistinct: boolean;
}

/** The later of two updates of one place wins, in row-major order of the updates. */
export function emitScatter(emitter: Emitter, request: ScatterRequest): void {
  if (elementCount(request.updates.shape) === 0) return;
  const claim = request.isDistinct ? undefined : emitClaim(emitter, request);
  const { updates, indices, to, lookup } = request;
  const axes = updates.shape.map(
    (size, axis): WalkAxis => ({
      size,
      strides: [
        updates.strides[axis] ?? 0,
        request.indexStrides[axis] ?? 0,
        request.toStrides[axis] ?? 0,
        claim?.coordinateStrides[axis] ?? 0,
        claim?.rowStrides[axis] ?? 0,
      ],
    }),
  );
  const walk = walkOver(axes, 0, [
    { view: updates, operand: 0, more: [] },
    { view: to, operand: 2, more: lookup.map(({ stride }) => stride) },
  ]);
  const params = writeParams(scatterStruct, {
    updates,
    indices,
    to,
    winners: claim?.winners,
    walk: walkFields(walk),
    updateStrides: stridesAlong(walk, 0),
    indexStrides: stridesAlong(walk, 1),
    toStrides: stridesAlong(walk, 2),
    winnerStrides: stridesAlong(walk, 3),
    rowStrides: stridesAlong(walk, 4),
    lookup: lookupFields(request, walk.factor),
    winnerLookupStrides: claim?.lookupStrides ?? [],
  });
  const reads = [updates, indices, to, ...(claim === undefined ? [] : [claim.winners])];
  emitter.launch(
    walkLaunch({ entry: `scatter_w${walk.width}`, count: walk.count, params, reads, writes: [to] }),
  );
}

interface Claim {
  /** int32: the number of the last update that goes to a place, plus one. */
  readonly winners: View;
  /** By axis of the updates: of `winners`, and of the update's number. */
  readonly coordinateStrides: readonly number[];
  readonly rowStrides: readonly number[];
  readonly lookupStrides: readonly number[];
}

/**
 * Which update each place keeps. Axes along which the indices do not differ (a slice that moves as a whole) share one
 * entry, so the table has one element for each place that an index can name.
 */
function emitClaim(emitter: Emitter, request: ScatterRequest): Claim {
  const { updates, indices, lookup } = request;
  const isRow = updates.shape.map(
    (_, axis) => request.indexStrides[axis] !== 0 || request.toStrides[axis] === 0,
  );
  const rowShape = updates.shape.map((size, axis) => (isRow[axis] === true ? size : 1));
  const isPlace = updates.shape.map((_, axis) => isRow[axis] === true && request.toStrides[axis] !== 0);
  const placeShape = rowShape.map((size, axis) => (isPlace[axis] === true ? size : 1));
  const winners = emitter.temporary("int32", [...placeShape, ...lookup.map(({ size }) => size)]);
  const strides = winners.strides;
  const keepRow = (list: readonly number[]) => list.map((each, axis) => (isRow[axis] === true ? each : 0));
  const claim: Claim = {
    winners,
    coordinateStrides: strides
      .slice(0, placeShape.length)
      .map((each, axis) => (isPlace[axis] === true ? each : 0)),
    rowStrides: keepRow(stridesOf(rowShape)),
    lookupStrides: strides.slice(placeShape.length),
  };
  emitter.clear(winners);
  const axes = rowShape.map(
    (size, axis): WalkAxis => ({
      size,
      strides: [
        request.indexStrides[axis] ?? 0,
        claim.coordinateStrides[axis] ?? 0,
        claim.rowStrides[axis] ?? 0,
      ],
    }),
  );
  const walk = walkOver(axes, 0, []);
  const params = claimParams(request, claim, walk);
  emitter.launch(
    walkLaunch({
      entry: "scatter_claim",
      count: walk.count,
      params,
      reads: [indices, winners],
      writes: [winners],
    }),
  );
  return claim;
}

function claimParams(request: ScatterRequest, claim: Claim, walk: Walk): ParamBlock {
  return writeParams(scatterStruct, {
    updates: undefined,
    indices: request.indices,
    to: undefined,
    winners: claim.winners,
    walk: walkFields(walk),
    updateStrides: [],
    indexStrides: stridesAlong(walk, 0),
    toStrides: [],
    winnerStrides: stridesAlong(walk, 1),
    rowStrides: stridesAlong(walk, 2),
    lookup: lookupFields(request, 1),
    winnerLookupStrides: claim.lookupStrides,
  });
}

export interface ScatterReduceRequest extends Omit<ScatterRequest, "isDistinct"> {
  readonly reduction: Reduction;
  /** The axis of the updates along which they may meet: one thread goes along it in order. */
  readonly along: number;
}

/** So many updates to a line are shared among blocks, where their indices allow it. */
const minSharedRows = 32;
const rowThreads = 256;
/** Blocks that go through all indices, for each multiprocessor. */
const blocksPerMultiprocessor = 4;

/** Combines each update with what is in its place, in row-major order; halves are not taken. */
export function emitScatterReduce(emitter: Emitter, request: ScatterReduceRequest): void {
  const { updates, indices, to, along, reduction } = request;
  if (elementCount(updates.shape) === 0) return;
  const moveWhole = request.indexStrides.every(
    (stride, axis) => axis === along || stride === 0 || updates.shape[axis] === 1,
  );
  if (moveWhole && (updates.shape[along] ?? 1) >= minSharedRows) return emitScatterRows(emitter, request);
  const axes = updates.shape.map(
    (size, axis): WalkAxis => ({
      size: axis === along ? 1 : size,
      strides: [updates.strides[axis] ?? 0, request.indexStrides[axis] ?? 0, request.toStrides[axis] ?? 0],
    }),
  );
  const walk = walkOver(axes, 0, []);
  const params = writeParams(scatterReduceStruct, {
    updates,
    indices,
    to,
    walk: walkFields(walk),
    updateStrides: stridesAlong(walk, 0),
    indexStrides: stridesAlong(walk, 1),
    toStrides: stridesAlong(walk, 2),
    lookup: lookupFields(request, 1),
    steps: updates.shape[along] ?? 1,
    updateStep: updates.strides[along] ?? 0,
    indexStep: request.indexStrides[along] ?? 0,
    reduction: reductions[reduction],
  });
  emitter.launch(
    walkLaunch({
      entry: `scatter_reduce_${updates.type}`,
      count: walk.count,
      params,
      reads: [updates, indices, to],
      writes: [to],
    }),
  );
}

/** Where the index is the same for a whole slice of the updates. */
function emitScatterRows(emitter: Emitter, request: ScatterReduceRequest): void {
  const { updates, indices, to, along, reduction, lookup } = request;
  const axes = updates.shape.map(
    (size, axis): WalkAxis => ({
      size: axis === along ? 1 : size,
      strides: [updates.strides[axis] ?? 0, request.toStrides[axis] ?? 0],
    }),
  );
  const walk = walkOver(axes, 0, []);
  const places = lookup.reduce((total, { size }) => total * size, 1);
  const params = writeParams(scatterRowsStruct, {
    updates,
    indices,
    to,
    walk: walkFields(walk),
    updateStrides: stridesAlong(walk, 0),
    toStrides: stridesAlong(walk, 1),
    lookup: lookupFields(request, 1),
    rows: updates.shape[along] ?? 1,
    updateRow: updates.strides[along] ?? 0,
    indexRow: request.indexStrides[along] ?? 0,
    places,
    reduction: reductions[reduction],
  });
  emitter.launch({
    kernel: { kind: "built", family: "movement", entry: `scatter_rows_${updates.type}` },
    grid: [
      Math.min(places, blocksPerMultiprocessor * emitter.target.multiprocessors),
      Math.min(Math.ceil(walk.count / rowThreads), 64),
      1,
    ],
    block: [rowThreads, 1, 1],
    sharedBytes: 0,
    params,
    reads: [updates, indices, to],
    writes: [to],
  });
}
