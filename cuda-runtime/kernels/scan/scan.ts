/** @file Launches of running sums and products. */

import type { Emitter } from "../../ir/emitter.ts";
import { writeParams } from "../../ir/param-table.ts";
import { storageTypes } from "../../ir/storage.ts";
import type { View } from "../../ir/view.ts";
import { byStride, checkRank, mergedAxes, productOf, sizesOf, stridesAt } from "../reduce/axes.ts";
import { accumulatorOf } from "../reduce/reduce.ts";
import { scanStruct } from "./params.table.ts";

const threads = 256;

export interface ScanRequest {
  readonly input: View;
  /** Of the same shape. */
  readonly output: View;
  readonly axis: number;
  /** An element's own value is left out of its total. */
  readonly isExclusive: boolean;
  /** From the last element to the first. */
  readonly isReverse: boolean;
  readonly isProduct: boolean;
}

export function emitScan(emitter: Emitter, request: ScanRequest): void {
  const { axis, isExclusive, isProduct, isReverse } = request;
  const [input, output] = [request.input, request.output].map((view) =>
    isReverse ? reversed(view, axis) : view,
  );
  if (input === undefined || output === undefined) return;
  const others = input.shape.flatMap((size, at) =>
    at === axis ? [] : [{ size, strides: [input.strides[at] ?? 0, output.strides[at] ?? 0] }],
  );
  const outer = mergedAxes(byStride(others));
  checkRank(outer);
  const length = input.shape[axis] ?? 1;
  const rows = productOf(outer);
  if (rows * length === 0) return;
  const lanes = length <= 64 || rows >= 16_384 ? 1 : threads;
  emitter.launch({
    kernel: { kind: "built", family: "scan", entry: `scan_${accumulatorOf(input.type, "integer")}` },
    grid: [lanes === 1 ? Math.ceil(rows / threads) : rows, 1, 1],
    block: [threads, 1, 1],
    sharedBytes: 0,
    params: writeParams(scanStruct, {
      x: input,
      y: output,
      outerRank: outer.length,
      outerSizes: sizesOf(outer),
      outerStridesX: stridesAt(outer, 0),
      outerStridesY: stridesAt(outer, 1),
      outer: rows,
      length,
      strideX: input.strides[axis] ?? 0,
      strideY: output.strides[axis] ?? 0,
      isExclusive,
      isProduct,
      lanes,
      xType: storageTypes[input.type].code,
      yType: storageTypes[output.type].code,
    }),
    reads: [request.input],
    writes: [request.output],
    detail: `${rows}x${length} lanes ${lanes}`,
  });
}

function reversed(view: View, axis: number): View {
  const stride = view.strides[axis] ?? 0;
  const last = Math.max(0, (view.shape[axis] ?? 1) - 1);
  return { ...view, strides: view.strides.with(axis, -stride), offset: view.offset + last * stride };
}
