/** @file Operators that only rename axes or take part of a tensor: another view of the same memory. */

import { elementCount, expanded, permuted, reshaped, sliced, type View } from "../ir/view.ts";
import type { Lower, LowerContext, LowerTable } from "./context.ts";
import {
  allAxes,
  axisAttribute,
  axisOf,
  keptOrder,
  listedAxes,
  listOf,
  mustReshape,
  reshapedOrCopied,
} from "./movement-arguments.ts";

/** Reshape, Flatten, Squeeze, Unsqueeze: facts know the shape. */
const regroup: Lower = (context) =>
  context.setOutput(0, reshapedOrCopied(context, context.input(0), context.outputShape(0)));

const identity: Lower = (context) => {
  const expr = context.expr(0);
  if (expr.kind === "load" && isSameShape(expr.view.shape, context.outputShape(0))) {
    context.setOutput(0, expr.view);
  } else {
    context.setExpr(0, expr);
  }
};

function isSameShape(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((size, axis) => size === b[axis]);
}

const transpose: Lower = (context) => {
  const view = context.input(0);
  context.setOutput(0, permuted(view, context.ints("perm") ?? allAxes(view.shape.length).reverse()));
};

const expand: Lower = (context) => context.setOutput(0, expanded(context.input(0), context.outputShape(0)));

/** Attributes before opset 10; inputs (data, starts, ends, axes, steps) from then on. */
const slice: Lower = (context) => {
  let view = context.input(0);
  const rank = view.shape.length;
  const starts = required(context, listOf(context, "starts", { index: 1, since: 10 }), "starts");
  const axes = listedAxes(context, { index: 3, since: 10, rank }) ?? allAxes(starts.length);
  const steps = context.opset >= 10 && context.hasInput(4) ? context.knownElements(4) : [];
  const shape = context.outputShape(0);
  if (axes.length > rank) context.fail(`has ${axes.length} axes for a tensor of rank ${rank}`);
  for (const [at, axis] of axes.entries()) {
    const step = steps[at] ?? 1;
    const start = firstPosition(view.shape[axis] ?? 1, starts[at] ?? 0, step);
    view = sliced(view, axis, start, shape[axis] ?? 0, step);
  }
  context.setOutput(0, view);
};

/** Where a slice of an axis starts, clamped as ONNX says. */
function firstPosition(size: number, start: number, step: number): number {
  const from = start < 0 ? start + size : start;
  return Math.min(step > 0 ? size : size - 1, Math.max(0, from));
}

function required<T>(context: LowerContext, value: T | undefined, what: string): T {
  return value ?? context.fail(`has no ${what}`);
}

const split: Lower = (context) => {
  const view = context.input(0);
  const axis = axisAttribute(context, 0, view.shape.length);
  const given = listOf(context, "split", { index: 1, since: 13 });
  const parts =
    context.opset < 18 ? context.outputCount : (context.int("num_outputs") ?? context.outputCount);
  const even = Math.ceil((view.shape[axis] ?? 0) / parts);
  let start = 0;
  for (let index = 0; index < context.outputCount; index++) {
    // The last of equal parts may be smaller.
    const size = given?.[index] ?? Math.min(even, (view.shape[axis] ?? 0) - start);
    if (context.hasOutput(index)) context.setOutput(index, sliced(view, axis, start, size));
    start += size;
  }
};

/** Since opset 15 attributes start and end cut the list of sizes. */
const shape: Lower = (context) => {
  const sizes = context.inputShape(0);
  const clamp = (axis: number) => Math.min(sizes.length, Math.max(0, axisOf(axis, sizes.length)));
  const from = clamp(context.int("start") ?? 0);
  const listed = sizes.slice(from, Math.max(from, clamp(context.int("end") ?? sizes.length)));
  context.setOutput(0, context.constant("int64", [listed.length], listed));
};

const size: Lower = (context) =>
  context.setOutput(0, context.constant("int64", [], [elementCount(context.inputShape(0))]));

/** Large tensors are weights to the planner. */
const constant: Lower = (context) => {
  const elements = context.tensorElements("value");
  if (elements !== undefined) {
    return context.setOutput(0, context.constant(context.outputType(0), context.outputShape(0), elements));
  }
  const float = context.float("value_float");
  const floats = context.floats("value_floats");
  const int = context.int("value_int");
  const ints = context.ints("value_ints");
  if (float !== undefined) return context.setOutput(0, context.constant("float32", [], [float]));
  if (floats !== undefined) return context.setOutput(0, context.constant("float32", [floats.length], floats));
  if (int !== undefined) return context.setOutput(0, context.constant("int64", [], [int]));
  if (ints !== undefined) return context.setOutput(0, context.constant("int64", [ints.length], ints));
  return context.fail("holds a constant other than a tensor of numbers");
};

/** [N, b·b·C, H, W] (DCR; C·b·b in CRD) to [N, C, H·b, W·b]. */
const depthToSpace: Lower = (context) => {
  const view = context.input(0);
  const [batch = 1, channels = 1, height = 1, width = 1] = view.shape;
  const block = required(context, context.int("blocksize"), "blocksize");
  const rest = channels / (block * block);
  const isDepthFirst = (context.string("mode") ?? "DCR") === "DCR";
  const apart = isDepthFirst
    ? mustReshape(context, view, [batch, block, block, rest, height, width])
    : mustReshape(context, view, [batch, rest, block, block, height, width]);
  rearrange(context, permuted(apart, isDepthFirst ? [0, 3, 4, 1, 5, 2] : [0, 1, 4, 2, 5, 3]), view);
};

/** [N, C, H·b, W·b] to [N, b·b·C, H, W]. */
const spaceToDepth: Lower = (context) => {
  const view = context.input(0);
  const [batch = 1, channels = 1, height = 1, width = 1] = view.shape;
  const block = required(context, context.int("blocksize"), "blocksize");
  const apart = mustReshape(context, view, [batch, channels, height / block, block, width / block, block]);
  // CRD is not in the standard; ONNX Runtime and newer node tests have it.
  const isDepthFirst = (context.string("mode") ?? "DCR") === "DCR";
  rearrange(context, permuted(apart, isDepthFirst ? [0, 3, 5, 1, 2, 4] : [0, 1, 3, 5, 2, 4]), view);
};

/** The output is `parts` with axes merged: a view where that works, else a copy in the input's memory order. */
function rearrange(context: LowerContext, parts: View, input: View): void {
  const view = reshaped(parts, context.outputShape(0));
  if (view !== undefined) return context.setOutput(0, view);
  const to = context.output(0, keptOrder(input));
  context.copy(parts, mustReshape(context, to, parts.shape));
}

/** Windows of `size` along `dim` become a new last axis: elements repeat, memory does not. */
const unfold: Lower = (context) => {
  const view = context.input(0);
  const axis = axisOf(context.int("dim") ?? -1, view.shape.length);
  const stride = view.strides[axis] ?? 0;
  context.setOutput(0, {
    ...view,
    shape: context.outputShape(0),
    strides: [...view.strides.with(axis, stride * (context.int("step") ?? 1)), stride],
  });
};

/** ONNX before 1.5: a border [left, top, right, bottom], or a window of `scale` at its corner. */
const crop: Lower = (context) => {
  const view = context.input(0);
  const [left = 0, top = 0] = context.ints("border") ?? [];
  const [, , height = 0, width = 0] = context.outputShape(0);
  context.setOutput(0, sliced(sliced(view, 2, top, height), 3, left, width));
};

export const viewLowerings: LowerTable = {
  Reshape: regroup,
  Flatten: regroup,
  Squeeze: regroup,
  Unsqueeze: regroup,
  "com.microsoft::ExpandDims": regroup,
  Identity: identity,
  Transpose: transpose,
  Expand: expand,
  Slice: slice,
  Split: split,
  Shape: shape,
  Size: size,
  Constant: constant,
  DepthToSpace: depthToSpace,
  SpaceToDepth: spaceToDepth,
  "com.microsoft::UnfoldTensor": unfold,
  Crop: crop,
};
