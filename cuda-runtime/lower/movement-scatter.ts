/** @file A copy of the data with some elements replaced or combined: ScatterElements, ScatterND, TensorScatter. */

import type { Expr } from "../ir/expr.ts";
import { maxRank } from "../ir/params.ts";
import { isHalfStorage, type StorageType } from "../ir/storage.ts";
import { elementCount, reshaped, type View } from "../ir/view.ts";
import {
  emitScatter,
  emitScatterReduce,
  type Reduction,
  reductions,
  type ScatterRequest,
} from "../kernels/movement/scatter.ts";
import type { Lower, LowerContext, LowerTable } from "./context.ts";
import {
  axisAttribute,
  axisOf,
  keptOrder,
  requireRank,
  requireShape,
  reshapedOrCopied,
  writeOutput,
} from "./movement-arguments.ts";
import { indexInput } from "./movement-gather.ts";

/** The attribute `reduction`; undefined for "none", or where the operator does not have it. */
function reductionOf(context: LowerContext): Reduction | undefined {
  const name = context.string("reduction") ?? "none";
  if (name === "none") return undefined;
  if (!isReduction(name))
    return context.fail(`reduction is "${name}", supported are none, add, mul, min, max`);
  return name;
}

function isReduction(name: string): name is Reduction {
  return Object.hasOwn(reductions, name);
}

/** Halves are summed as float32, rounded once at the end. */
function reducedType(type: StorageType): StorageType {
  return isHalfStorage(type) ? "float32" : type;
}

/** Each index replaces one coordinate of its own position. */
const scatterElements: Lower = (context) => {
  const data = context.input(0);
  const axis = axisAttribute(context, 0, data.shape.length);
  const indices = indexInput(context, 1);
  requireRank(context, 1, data.shape.length);
  requireShape(context, 2, indices.shape);
  const reduction = reductionOf(context);
  const type = reduction === undefined ? data.type : reducedType(data.type);
  const updates = ofType(context, context.input(2), type);
  const isDistinct = haveDistinctPlaces(context, axis);
  writeScattered(context, data, { type, isEmpty: elementCount(updates.shape) === 0 }, (to) => {
    const request = {
      updates,
      indices,
      to,
      indexStrides: indices.strides,
      toStrides: to.strides.with(axis, 0),
      lookup: [{ size: to.shape[axis] ?? 1, stride: to.strides[axis] ?? 0 }],
      depthStride: 0,
    };
    if (reduction === undefined) emitScatter(context, { ...request, isDistinct });
    else emitScatterReduce(context, { ...request, reduction, along: axis });
  });
};

/** The last axis of the indices holds positions of slices. */
const scatterND: Lower = (context) => {
  const data = context.input(0);
  const depth = context.inputShape(1).at(-1) ?? 0;
  if (depth > maxRank) context.fail(`has indices of ${depth} coordinates, supported are up to ${maxRank}`);
  const reduction = reductionOf(context);
  const type = reduction === undefined ? data.type : reducedType(data.type);
  const rowShape = context.inputShape(1).slice(0, -1);
  const rows = elementCount(rowShape);
  const sliceShape = data.shape.slice(depth);
  const isEmpty = rows * elementCount(sliceShape) === 0;
  if (isEmpty) return context.setOutput(0, data);
  const indices = reshapedOrCopied(context, indexInput(context, 1), [rows, depth]);
  const given = ofType(context, context.input(2), type);
  const updates = reshapedOrCopied(context, given, [rows, ...sliceShape]);
  const isDistinct = haveDistinctRows(context, depth);
  writeScattered(context, data, { type, isEmpty }, (to) => {
    const request: Omit<ScatterRequest, "isDistinct"> = {
      updates,
      indices,
      to,
      indexStrides: [indices.strides[0] ?? 0, ...sliceShape.map(() => 0)],
      toStrides: [0, ...to.strides.slice(depth)],
      lookup: to.shape.slice(0, depth).map((size, at) => ({ size, stride: to.strides[at] ?? 0 })),
      depthStride: indices.strides[1] ?? 0,
    };
    if (reduction === undefined) emitScatter(context, { ...request, isDistinct });
    else emitScatterReduce(context, { ...request, reduction, along: 0 });
  });
};

function ofType(context: LowerContext, view: View, type: StorageType): View {
  return view.type === type ? view : context.packed(view, { type });
}

/** A copy of the data as `type`, changed by `scatter`, handed on as the output. */
function writeScattered(
  context: LowerContext,
  data: View,
  { type, isEmpty }: { readonly type: StorageType; readonly isEmpty: boolean },
  scatter: (to: View) => void,
): void {
  if (isEmpty) return context.setOutput(0, data);
  writeOutput(context, { ...data, type }, keptOrder(data), (to) => {
    context.copy(data, to);
    scatter(to);
  });
}

/** Whether constant indices of ScatterElements name each place at most once. */
function haveDistinctPlaces(context: LowerContext, axis: number): boolean {
  const shape = context.inputShape(1);
  const size = context.inputShape(0)[axis] ?? 1;
  const indices = context.elements(1);
  if (shape[axis] === 1) return true;
  if (indices === undefined) return false;
  const inner = elementCount(shape.slice(axis + 1));
  const length = shape[axis] ?? 1;
  const places = indices.map((index, at) => {
    const line = Math.floor(at / (inner * length)) * inner + (at % inner);
    return line * size + axisOf(index, size);
  });
  return new Set(places).size === places.length;
}

/** Whether constant indices of ScatterND name each slice at most once. */
function haveDistinctRows(context: LowerContext, depth: number): boolean {
  const rows = elementCount(context.inputShape(1).slice(0, -1));
  if (rows === 1) return true;
  const indices = context.elements(1);
  const shape = context.inputShape(0);
  if (indices === undefined) return false;
  const places = Array.from({ length: rows }, (_, row) =>
    indices
      .slice(row * depth, (row + 1) * depth)
      .map((index, at) => axisOf(index, shape[at] ?? 1))
      .join(),
  );
  return new Set(places).size === rows;
}

/** New entries written into a copy of a cache, from `write_indices[b]` on; circular ones start over at the end. */
const tensorScatter: Lower = (context) => {
  const data = context.input(0);
  const rank = data.shape.length;
  const axis = axisAttribute(context, -2, rank);
  const updates = ofType(context, context.input(1), data.type);
  const mode = context.string("mode") ?? "linear";
  if (mode !== "linear" && mode !== "circular") {
    context.fail(`mode is "${mode}", supported are linear and circular`);
  }
  const [batch, steps] = [updates.shape[0] ?? 1, updates.shape[axis] ?? 1];
  const size = data.shape[axis] ?? 1;
  const isEmpty = elementCount(updates.shape) === 0;
  const expr = isEmpty
    ? undefined
    : writtenSteps(context, { batch, steps, size, isCircular: mode === "circular" });
  const indices = expr === undefined ? data : context.evaluate(expr, [batch, steps], "int32");
  writeScattered(context, data, { type: data.type, isEmpty }, (to) =>
    emitScatter(context, {
      updates,
      indices,
      to,
      indexStrides: data.strides
        .map(() => 0)
        .with(0, steps)
        .with(axis, 1),
      toStrides: to.strides.with(axis, 0),
      lookup: [{ size, stride: to.strides[axis] ?? 0 }],
      depthStride: 0,
      isDistinct: steps <= size,
    }),
  );
};

interface WrittenSteps {
  readonly batch: number;
  readonly steps: number;
  readonly size: number;
  readonly isCircular: boolean;
}

/** Over [batch, steps]: the place in the cache. */
function writtenSteps(context: LowerContext, { batch, steps, size, isCircular }: WrittenSteps): Expr {
  const step: Expr = { kind: "index", type: "i32", axisFromRight: 0, size: steps };
  if (!context.hasInput(2)) return step;
  const list = context.packed(context.input(2), { type: "int32" });
  const view = reshaped(list, [batch, 1]) ?? context.fail("has write indices that are no list");
  const place: Expr = {
    kind: "binary",
    type: "i32",
    op: "add",
    args: [{ kind: "load", type: "i32", view }, step],
  };
  if (!isCircular) return place;
  return {
    kind: "binary",
    type: "i32",
    op: "mod",
    args: [place, { kind: "constant", type: "i32", value: size }],
  };
}

export const scatterLowerings: LowerTable = {
  Scatter: scatterElements,
  ScatterElements: scatterElements,
  ScatterND: scatterND,
  TensorScatter: tensorScatter,
};
