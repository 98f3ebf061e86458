/** @file Elements looked up by index: Gather and its kin, ReverseSequence. */

import type { Expr } from "../ir/expr.ts";
import { maxRank } from "../ir/params.ts";
import { picked, reshaped, sliced, type View } from "../ir/view.ts";
import { emitGather, type GatherRequest } from "../kernels/movement/gather.ts";
import type { Lower, LowerContext, LowerTable } from "./context.ts";
import {
  axisAttribute,
  checkedAxis,
  keptOrder,
  requireRank,
  reshapedOrCopied,
  writePlaced,
} from "./movement-arguments.ts";

/** int32 or int64, as the kernels read them. */
export function indexInput(context: LowerContext, index: number): View {
  const view = context.input(index);
  if (view.type === "int32" || view.type === "int64") return view;
  return context.packed(view, { type: "int32" });
}

/** Indices replace one axis of the data. */
function gatherAlong(context: LowerContext, data: View, indices: View, axis: number): void {
  const places = indices.shape.length;
  const request = {
    from: data,
    indices,
    fromStrides: data.strides.toSpliced(axis, 1, ...indices.strides.map(() => 0)),
    indexStrides: data.strides.map(() => 0).toSpliced(axis, 1, ...indices.strides),
    lookup: [{ size: data.shape[axis] ?? 1, stride: data.strides[axis] ?? 0 }],
    depthStride: 0,
  };
  const order = keptOrder(data).flatMap((each) => {
    if (each !== axis) return each < axis ? each : each + places - 1;
    return indices.shape.map((_, place) => axis + place);
  });
  gatherInto(context, request, order);
}

function gatherInto(
  context: LowerContext,
  request: Omit<GatherRequest, "to">,
  order: readonly number[] | undefined,
): void {
  const isEmpty = request.lookup.some(({ size }) => size === 0);
  if (isEmpty && !context.outputShape(0).includes(0)) context.fail("takes elements from an empty axis");
  writePlaced(context, request.from, order, (to) => emitGather(context, { ...request, to }));
}

const gather: Lower = (context) => {
  const data = context.input(0);
  const axis = axisAttribute(context, 0, data.shape.length);
  const part = partGathered(context, data, axis);
  if (part !== undefined) return context.setOutput(0, part);
  gatherAlong(context, data, indexInput(context, 1), axis);
};

/**
 * Where indices are known, inside the axis and evenly apart: another view, as of a Slice. Not where neighbours would come apart, or repeat: each reader would
 * pack them for itself.
 */
function partGathered(context: LowerContext, data: View, axis: number): View | undefined {
  const listed = context.elements(1);
  const rank = context.inputShape(1).length;
  if (listed === undefined || rank > 1) return undefined;
  const size = data.shape[axis] ?? 0;
  const places = listed.map((index) => (index < 0 ? index + size : index));
  const [first, second] = places;
  if (first === undefined || !places.every((place) => place >= 0 && place < size)) return undefined;
  if (rank === 0) return picked(data, axis, first);
  const step = second === undefined ? 1 : second - first;
  if (!places.every((place, at) => place === first + at * step)) return undefined;
  const keepsRuns = step === 1 || (step !== 0 && data.strides[axis] !== 1);
  return keepsRuns ? sliced(data, axis, first, places.length, step) : undefined;
}

/** Rows of a table. */
const torchEmbedding: Lower = (context) => gatherAlong(context, context.input(0), indexInput(context, 1), 0);

/** Columns of the last axis; a vector counts as one row. */
const arrayFeatureExtractor: Lower = (context) => {
  const data = context.input(0);
  const rows = data.shape.length < 2 ? reshapedOrCopied(context, data, [1, data.shape[0] ?? 1]) : data;
  const indices = indexInput(context, 1);
  const list = reshapedOrCopied(context, indices, [indices.shape.reduce((total, size) => total * size, 1)]);
  gatherAlong(context, rows, list, rows.shape.length - 1);
};

/** The indices have the output's shape, and replace one coordinate of each position. */
const gatherElements: Lower = (context) => {
  const data = context.input(0);
  const indices = indexInput(context, 1);
  requireRank(context, 1, data.shape.length);
  const axis = axisAttribute(context, 0, data.shape.length);
  const request = {
    from: data,
    indices,
    fromStrides: data.strides.with(axis, 0),
    indexStrides: indices.strides,
    lookup: [{ size: data.shape[axis] ?? 1, stride: data.strides[axis] ?? 0 }],
    depthStride: 0,
  };
  gatherInto(context, request, undefined);
};

/** The last axis of the indices holds coordinates, behind `batch_dims` axes that both have. */
const gatherND: Lower = (context) => {
  const data = context.input(0);
  const indices = indexInput(context, 1);
  const batchAxes = context.int("batch_dims") ?? 0;
  const depth = indices.shape.at(-1) ?? 0;
  if (depth > maxRank) context.fail(`has indices of ${depth} coordinates, supported are up to ${maxRank}`);
  const rows = indices.strides.slice(0, -1);
  const looked = data.shape.slice(batchAxes, batchAxes + depth);
  const rest = data.strides.slice(batchAxes + depth);
  const request = {
    from: data,
    indices,
    fromStrides: [...rows.map((_, axis) => (axis < batchAxes ? (data.strides[axis] ?? 0) : 0)), ...rest],
    indexStrides: [...rows, ...rest.map(() => 0)],
    lookup: looked.map((size, at) => ({ size, stride: data.strides[batchAxes + at] ?? 0 })),
    depthStride: indices.strides.at(-1) ?? 0,
  };
  gatherInto(context, request, undefined);
};

/** The first `lengths[b]` steps of each sequence turned round, the others as they are. */
const reverseSequence: Lower = (context) => {
  const data = context.input(0);
  const rank = data.shape.length;
  const batchAxis = checkedAxis(context, context.int("batch_axis") ?? 1, rank);
  const timeAxis = checkedAxis(context, context.int("time_axis") ?? 0, rank);
  const [batch, steps] = [data.shape[batchAxis] ?? 1, data.shape[timeAxis] ?? 1];
  const indices = context.evaluate(reversedSteps(context, batch, steps), [batch, steps], "int32");
  const request = {
    from: data,
    indices,
    fromStrides: data.strides.with(timeAxis, 0),
    indexStrides: data.strides
      .map(() => 0)
      .with(batchAxis, steps)
      .with(timeAxis, 1),
    lookup: [{ size: steps, stride: data.strides[timeAxis] ?? 0 }],
    depthStride: 0,
  };
  gatherInto(context, request, keptOrder(data));
};

/** Over [batch, steps]: length − 1 − step before the length, the step itself from there on. */
function reversedSteps(context: LowerContext, batch: number, steps: number): Expr {
  const list = context.packed(context.input(1), { type: "int32" });
  const view = reshaped(list, [batch, 1]) ?? context.fail("has lengths that are no list");
  const length: Expr = { kind: "load", type: "i32", view };
  const step: Expr = { kind: "index", type: "i32", axisFromRight: 0, size: steps };
  const one: Expr = { kind: "constant", type: "i32", value: 1 };
  const last: Expr = { kind: "binary", type: "i32", op: "sub", args: [length, one] };
  return {
    kind: "select",
    type: "i32",
    condition: { kind: "compare", type: "bool", op: "lt", args: [step, length] },
    args: [{ kind: "binary", type: "i32", op: "sub", args: [last, step] }, step],
  };
}

export const gatherLowerings: LowerTable = {
  Gather: gather,
  "com.microsoft::TorchEmbedding": torchEmbedding,
  "ai.onnx.ml::ArrayFeatureExtractor": arrayFeatureExtractor,
  GatherElements: gatherElements,
  GatherND: gatherND,
  "com.microsoft::GatherND": gatherND,
  ReverseSequence: reverseSequence,
};
