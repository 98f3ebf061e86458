/** @file Launches of ArgMax, ArgMin and TopK. */

import type { Emitter } from "../../ir/emitter.ts";
import { writeParams } from "../../ir/param-table.ts";
import type { KernelRef } from "../../ir/step.ts";
import { type StorageType, storageTypes } from "../../ir/storage.ts";
import type { View } from "../../ir/view.ts";
import {
  type Axis,
  byStride,
  checkRank,
  mergedAxes,
  powerOfTwoBelow,
  productOf,
  sizesOf,
  stridesAt,
} from "../reduce/axes.ts";
import { orderStruct } from "./params.table.ts";

const argThreads = 256;
const topThreads = 512;
/** What a block has without asking for more; a larger sort costs more than a second one. */
const sharedBytes = 48 * 1024;

export interface OrderRequest {
  readonly input: View;
  readonly axis: number;
  readonly isLargest: boolean;
}

export interface ArgRequest extends OrderRequest {
  /** Of the input's rank, `axis` with one element; int64. */
  readonly output: View;
  /** Of equal elements the last one. */
  readonly isLastIndex: boolean;
}

export interface TopKRequest extends OrderRequest {
  /** Of the input's type and rank, `axis` with as many elements as are kept, the best one first. */
  readonly values: View;
  /** Of the same shape; int64. */
  readonly indices: View;
}

interface OrderWalk {
  /** Axes beside the one ordered along. Strides: of the input, the values, the indices. */
  readonly outer: readonly Axis[];
  readonly length: number;
  readonly strides: readonly [number, number, number];
}

function walkOf({ input, axis }: OrderRequest, values: View | undefined, indices: View): OrderWalk {
  const stridesOf = (at: number) => [
    input.strides[at] ?? 0,
    values?.strides[at] ?? 0,
    indices.strides[at] ?? 0,
  ];
  const others = input.shape.flatMap((size, at) => (at === axis ? [] : [{ size, strides: stridesOf(at) }]));
  const outer = mergedAxes(byStride(others));
  checkRank(outer);
  return {
    outer,
    length: input.shape[axis] ?? 1,
    strides: [input.strides[axis] ?? 0, values?.strides[axis] ?? 0, indices.strides[axis] ?? 0],
  };
}

export function emitArg(emitter: Emitter, request: ArgRequest): void {
  const { input, output, isLargest, isLastIndex } = request;
  const walk = walkOf(request, undefined, output);
  const rows = productOf(walk.outer);
  if (rows === 0) return;
  const lanes = rows >= 65_536 && walk.length < 64 ? 1 : powerOfTwoBelow(Math.min(walk.length, argThreads));
  emitter.launch({
    kernel: kernel("arg_any"),
    grid: [Math.ceil(rows / (argThreads / lanes)), 1, 1],
    block: [argThreads, 1, 1],
    sharedBytes: 0,
    params: paramsOf({ input, values: undefined, indices: output, walk, lanes, isLargest, isLastIndex }),
    reads: [input],
    writes: [output],
    detail: `${rows}x${walk.length} lanes ${lanes}`,
  });
}

export interface TopKVariant {
  readonly entry: "topk_narrow" | "topk_wide" | "topk_rank";
  /** Pairs in shared memory. */
  readonly capacity: number;
}

/** The sort in shared memory where the kept elements and a block's worth of newcomers fit. */
export function topKVariant(type: StorageType, length: number, count: number): TopKVariant {
  const isWide = storageTypes[type].bytes === 8;
  const most = powerOfTwoBelow(sharedBytes / (isWide ? 16 : 8));
  const isWhole = length <= most;
  if (!isWhole && count + topThreads > most) return { entry: "topk_rank", capacity: 1 };
  // A row that does not fit is read through a window four times what is kept: few sorts, each of them small.
  const wanted = isWhole ? length : Math.min(most, Math.max(2048, 4 * (count + topThreads)));
  const capacity = Math.max(1, 2 ** Math.ceil(Math.log2(wanted)));
  return { entry: isWide ? "topk_wide" : "topk_narrow", capacity };
}

/** Emits nothing where nothing is kept. */
export function emitTopK(emitter: Emitter, request: TopKRequest): void {
  const { input, values, indices, axis, isLargest } = request;
  const walk = walkOf(request, values, indices);
  const rows = productOf(walk.outer);
  const count = values.shape[axis] ?? 1;
  if (rows === 0 || count === 0) return;
  const { entry, capacity } = topKVariant(input.type, walk.length, count);
  const isRank = entry === "topk_rank";
  emitter.launch({
    kernel: kernel(entry),
    grid: [rows, isRank ? Math.ceil(walk.length / topThreads) : 1, 1],
    block: [isRank ? topThreads : Math.min(topThreads, Math.max(32, capacity / 2)), 1, 1],
    sharedBytes: isRank ? 0 : capacity * (entry === "topk_wide" ? 16 : 8),
    params: paramsOf({ input, values, indices, walk, count, capacity, isLargest }),
    reads: [input],
    writes: [values, indices],
    detail: `${rows}x${walk.length} to ${count}, window ${capacity}`,
  });
}

function kernel(entry: string): KernelRef {
  return { kind: "built", family: "order", entry };
}

interface OrderFields {
  readonly input: View;
  readonly values: View | undefined;
  readonly indices: View;
  readonly walk: OrderWalk;
  readonly count?: number;
  readonly capacity?: number;
  readonly lanes?: number;
  readonly isLargest: boolean;
  readonly isLastIndex?: boolean;
}

function paramsOf(fields: OrderFields) {
  const { input, values, indices, walk, count = 1, capacity = 1, lanes = 1, isLargest, isLastIndex } = fields;
  const { outer, length, strides } = walk;
  return writeParams(orderStruct, {
    x: input,
    values,
    indices,
    outerRank: outer.length,
    outerSizes: sizesOf(outer),
    outerStridesX: stridesAt(outer, 0),
    outerStridesValues: stridesAt(outer, 1),
    outerStridesIndices: stridesAt(outer, 2),
    outer: productOf(outer),
    length,
    strideX: strides[0],
    strideValues: strides[1],
    strideIndices: strides[2],
    count,
    capacity,
    lanes,
    isLargest,
    isLastIndex: isLastIndex === true,
    xType: storageTypes[input.type].code,
  });
}
