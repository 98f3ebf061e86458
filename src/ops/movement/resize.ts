/** @file Resize and Upsample: axes scaled by factors or to sizes. */

import { paddedSize } from "../../ir/axis.ts";
import { type Dim, floorDivDims, mulDims, type Shape, sameDim, unknownDim } from "../../ir/dim.ts";
import { maxOf, minOf } from "../../ir/lists.ts";
import { textOf } from "../../ir/message.ts";
import { type AxisContext, type Lane, type LaneContext, passAxes } from "../axes.ts";
import { finiteIfKnown, keepLane, zeroOrFinite } from "../lanes.ts";
import { defineOp, type OpContext, ShapeError } from "../op.ts";
import { elementsAt, numbersAt, tensor, tensorAt, unknownShape } from "../shape.ts";
import { half } from "../traits.ts";
import { normalizeAxes } from "./axes.ts";

/** Inputs: (X, scales) in opset 10, (X, roi, scales, sizes) from 11 on; of scales and sizes one is empty. */
export const resize = defineOp({
  domain: "",
  type: "Resize",
  traits: {
    elements: "computed",
    half: half(10, 13, { inputs: { 1: "float", 2: "float" } }),
    layout: "channels",
    sameSince: 13,
    scale: "first",
    uses: { 1: { kind: "whole" }, 2: { kind: "whole" } },
  },
  infer(context) {
    const { dtype, shape } = tensorAt(context, 0);
    const scales = context.opset < 11 ? 1 : 2;
    if (shape === undefined) return [tensor(dtype, undefined)];
    const axes = listedAxes(context, shape.length);
    if (isGiven(context, 3)) return [tensor(dtype, resizedTo(context, shape, axes))];
    return [tensor(dtype, scaled(shape, axes, elementsAt(context, scales)))];
  },
  axes: resizeAxes,
  lanes: resizeLane,
});

/** Scales are an attribute in opset 7 and input 1 in opset 9. */
export const upsample = defineOp({
  domain: "",
  type: "Upsample",
  traits: {
    elements: "computed",
    half: half(1, undefined, { inputs: { 1: "float" } }),
    layout: "channels",
    scale: "first",
    uses: { 1: { kind: "whole" } },
  },
  infer(context) {
    const { dtype, shape } = tensorAt(context, 0);
    const scales = context.opset < 9 ? context.floats("scales") : elementsAt(context, 1);
    const rank = shape?.length ?? scales?.length;
    if (rank === undefined) return [tensor(dtype, undefined)];
    return [tensor(dtype, scaled(shape ?? unknownShape(rank), [...Array(rank).keys()], scales))];
  },
  axes(context) {
    const scales = context.opset < 9 ? context.floats("scales") : elementsAt(context, 1);
    passAxes(context, (axis) => scales?.[axis] === 1, "resizes it");
  },
  lanes: resizeLane,
});

/** Axes that keep their size pass: of scale 1, or with their own size in `sizes`, which is then written again. */
function resizeAxes(context: AxisContext): void {
  const { shape } = tensorAt(context, 0);
  if (shape === undefined) return context.blockAll("has operands of unknown sizes");
  if (isGiven(context, 3)) return sizedAxes(context);
  const listed = listedAxes(context, shape.length);
  const scales = elementsAt(context, context.opset < 11 ? 1 : 2);
  passAxes(context, (axis) => !listed.includes(axis) || scales?.[listed.indexOf(axis)] === 1, "resizes it");
}

function sizedAxes(context: AxisContext): void {
  const kept = axesKeptBySizes(context);
  const listed = listedAxes(context, tensorAt(context, 0).shape?.length ?? 0);
  passAxes(context, (axis) => !listed.includes(axis) || kept.includes(axis), "resizes it");
  const targets = numbersAt(context, 3);
  const axes = context.axesOf(0);
  if (axes === undefined) return;
  if (targets === undefined) return context.repeatSizes(3, kept);
  context.rewriteInput(3, (sizes) =>
    targets.map((target, at) => {
      const own = axes[kept[at] ?? -1];
      return own === undefined ? target : paddedSize(own, sizes);
    }),
  );
}

/** For each element of `sizes`, the axis of input 0 that it names the size of; undefined where it names another size. */
export function axesKeptBySizes(context: OpContext): readonly (number | undefined)[] {
  const { shape } = tensorAt(context, 0);
  const targets = isGiven(context, 3) ? elementsAt(context, 3) : undefined;
  const policy = context.string("keep_aspect_ratio_policy") ?? "stretch";
  if (shape === undefined || targets === undefined || policy !== "stretch") return [];
  const listed = listedAxes(context, shape.length);
  return targets.map((target, at) => {
    const axis = listed[at] ?? -1;
    const dim = shape[axis];
    return dim !== undefined && sameDim(dim, target) ? axis : undefined;
  });
}

/** The axes that scales and sizes are about, in their order. */
function listedAxes(context: OpContext, rank: number): readonly number[] {
  const given = context.opset < 18 ? undefined : context.ints("axes");
  return normalizeAxes(given ?? [...Array(rank).keys()], rank);
}

/** Weights of neighbours add up to 1 up to rounding; outside the image stands one value. */
function resizeLane(context: LaneContext): Lane {
  const lane = zeroOrFinite(keepLane(context));
  const outside = context.string("coordinate_transformation_mode") === "tf_crop_and_resize";
  return outside && (context.float("extrapolation_value") ?? 0) !== 0 ? finiteIfKnown(lane) : lane;
}

/** An optional input may be left out by name or by being an empty tensor. */
function isGiven(context: OpContext, index: number): boolean {
  return context.inputs[index] !== undefined && tensorAt(context, index).shape?.[0] !== 0;
}

function checkCount(list: readonly unknown[] | undefined, axes: readonly number[], what: string): void {
  if (list !== undefined && list.length !== axes.length) {
    throw new ShapeError(textOf`${axes.length} axes are resized by ${list.length} ${what}`);
  }
}

function scaled(shape: Shape, axes: readonly number[], scales: readonly Dim[] | undefined): Shape {
  checkCount(scales, axes, "scales");
  const result = [...shape];
  for (const [at, axis] of axes.entries())
    result[axis] = scaledDim(shape[axis] ?? unknownDim(), scales?.[at]);
  return result;
}

/** ⌊size × scale⌋, rounded to float32 first as ONNX Runtime computes it: 10 × 0.7 is 7 there, 6.99… exactly. */
function scaledDim(dim: Dim, scale: Dim | undefined): Dim {
  if (scale === undefined) return unknownDim();
  if (typeof scale !== "number") return mulDims(dim, scale);
  if (typeof dim === "number") return Math.floor(Math.fround(dim * Math.fround(scale)));
  // A factor such as 0.5 or 1.25 is a fraction of a small power of two, exactly.
  for (let divisor = 1; divisor <= 64; divisor *= 2) {
    if (Number.isInteger(scale * divisor)) return floorDivDims(mulDims(dim, scale * divisor), divisor);
  }
  return unknownDim();
}

function resizedTo(context: OpContext, shape: Shape, axes: readonly number[]): Shape {
  const sizes = elementsAt(context, 3);
  checkCount(sizes, axes, "sizes");
  const policy = context.string("keep_aspect_ratio_policy") ?? "stretch";
  const result = [...shape];
  const factor = policy === "stretch" ? undefined : commonFactor(shape, axes, sizes, policy === "not_larger");
  for (const [at, axis] of axes.entries()) {
    const dim = shape[axis];
    if (policy === "stretch") result[axis] = sizes?.[at] ?? unknownDim();
    else if (factor === undefined || typeof dim !== "number") result[axis] = unknownDim();
    else result[axis] = Math.floor(dim * factor + 0.5);
  }
  return result;
}

/** The one factor that keeps the aspect ratio: the smallest (nothing larger than asked) or the largest. */
function commonFactor(
  shape: Shape,
  axes: readonly number[],
  sizes: readonly Dim[] | undefined,
  smallest: boolean,
): number | undefined {
  const factors: number[] = [];
  for (const [at, axis] of axes.entries()) {
    const size = sizes?.[at];
    const dim = shape[axis];
    if (typeof size !== "number" || typeof dim !== "number") return undefined;
    factors.push(size / dim);
  }
  return smallest ? minOf(factors) : maxOf(factors);
}
