/** @file The generic product: integers and doubles of any strides, with zero points; right, and simple. */

import type { Emitter } from "../../ir/emitter.ts";
import { writeParams } from "../../ir/param-table.ts";
import { type StorageType, storageTypes } from "../../ir/storage.ts";
import { elementCount, type View } from "../../ir/view.ts";
import { genericStruct } from "./params.table.ts";

export interface GenericRequest {
  /** [...batch, m, k], an integer type or float64. */
  readonly a: View;
  /** [...batch, k, n], of the same rank. */
  readonly b: View;
  /** [...batch, m, n]; sums wrap around as its type does. */
  readonly to: View;
  /** Subtracted from a's elements: [...batch, m], any axis 1. */
  readonly zeroA?: View | undefined;
  /** Subtracted from b's elements: [...batch, n], any axis 1. */
  readonly zeroB?: View | undefined;
}

const tile = 16;
const maxBatchAxes = 3;

/** Launches D[..., m, n] = Σ_k (A[..., m, k] - zeroA) (B[..., k, n] - zeroB). */
export function emitGenericGemm(emitter: Emitter, request: GenericRequest): void {
  const { to } = request;
  if (elementCount(to.shape) === 0) return;
  const sizes = to.shape.slice(0, -2);
  const axes = [...sizes.keys()].filter((axis) => sizes[axis] !== 1);
  if (axes.length > maxBatchAxes) return emitSlices(emitter, request, axes);
  const [m = 1, n = 1] = to.shape.slice(-2);
  const [tilesM, tilesN] = [Math.ceil(m / tile), Math.ceil(n / tile)];
  const { a, b, zeroA, zeroB } = request;
  emitter.launch({
    kernel: { kind: "built", family: "gemm-plain", entry: entryOf(to.type) },
    grid: [tilesM * tilesN * elementCount(sizes), 1, 1],
    block: [tile * tile, 1, 1],
    sharedBytes: 0,
    params: paramsOf(request, axes, tilesM, tilesN),
    reads: [a, b, ...(zeroA ? [zeroA] : []), ...(zeroB ? [zeroB] : [])],
    writes: [to],
    flops: 2 * elementCount(to.shape) * (a.shape.at(-1) ?? 1),
  });
}

function entryOf(type: StorageType): string {
  if (type === "float64") return "generic_double";
  return type === "int64" || type === "uint64" ? "generic_long" : "generic_int";
}

function paramsOf(request: GenericRequest, axes: readonly number[], tilesM: number, tilesN: number) {
  const { a, b, to, zeroA, zeroB } = request;
  const rank = to.shape.length;
  const [m, n] = [rank - 2, rank - 1];
  const code = (view: View | undefined) => storageTypes[(view ?? to).type].code;
  return writeParams(genericStruct, {
    a,
    b,
    d: to,
    zeroA,
    zeroB,
    m: to.shape[m] ?? 1,
    n: to.shape[n] ?? 1,
    k: a.shape[n] ?? 1,
    tilesM,
    tilesN,
    ...strideFields(request, axes),
    aType: code(a),
    bType: code(b),
    zeroAType: code(zeroA),
    zeroBType: code(zeroB),
    dType: code(to),
  });
}

function strideFields({ a, b, to, zeroA, zeroB }: GenericRequest, axes: readonly number[]) {
  const [m, n] = [to.shape.length - 2, to.shape.length - 1];
  const three = (values: readonly number[], fill: number) => [
    ...new Array<number>(maxBatchAxes - values.length).fill(fill),
    ...values,
  ];
  const batchOf = (view: View | undefined) =>
    three(
      axes.map((axis) => strideAt(view, axis)),
      0,
    );
  return {
    batch: three(
      axes.map((axis) => to.shape[axis] ?? 1),
      1,
    ),
    aBatch: batchOf(a),
    bBatch: batchOf(b),
    dBatch: batchOf(to),
    zeroABatch: batchOf(zeroA),
    zeroBBatch: batchOf(zeroB),
    aM: strideAt(a, m),
    aK: strideAt(a, n),
    bK: strideAt(b, m),
    bN: strideAt(b, n),
    dM: strideAt(to, m),
    dN: strideAt(to, n),
    zeroAM: strideAt(zeroA, m),
    zeroBN: strideAt(zeroB, m),
  };
}

function strideAt(view: View | undefined, axis: number): number {
  return view === undefined || view.shape[axis] === 1 ? 0 : (view.strides[axis] ?? 0);
}

function emitSlices(emitter: Emitter, request: GenericRequest, axes: readonly number[]): void {
  const { to } = request;
  const axis = axes.reduce((best, each) => ((to.shape[each] ?? 1) < (to.shape[best] ?? 1) ? each : best));
  for (let index = 0; index < (to.shape[axis] ?? 1); index++) {
    const at = (view: View): View => ({
      ...view,
      shape: view.shape.with(axis, 1),
      offset: view.offset + index * strideAt(view, axis),
    });
    const { a, b, zeroA, zeroB } = request;
    const slice = { a: at(a), b: at(b), to: at(to), zeroA: zeroA && at(zeroA), zeroB: zeroB && at(zeroB) };
    emitGenericGemm(emitter, slice);
  }
}
