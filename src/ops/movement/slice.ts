/** @file Slice: a range of some axes, with steps. */

import type { Dim, Shape } from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import { keepLane } from "../lanes.ts";
import { defineOp, type OpContext, ShapeError, type TensorFact } from "../op.ts";
import { elementsAt, elementsOf, tensorAt, unknownShape } from "../shape.ts";
import { half } from "../traits.ts";
import { type AxesArgument, axesArgument, normalizeAxes } from "./axes.ts";
import { elementAt, fill, folded, lengthOf } from "./elements.ts";
import { sliceAxes } from "./slice-axes.ts";
import { clampedBounds, type SliceBounds, sliceExtent } from "./slice-extent.ts";

/** Attributes before opset 10, inputs (data, starts, ends, axes, steps) from then on. */
export const slice = defineOp({
  domain: "",
  type: "Slice",
  traits: { elements: "moved", half: half(1, 13), layout: "sliced", sameSince: 10, scale: "first" },
  pass: "slice",
  infer(context) {
    const input = tensorAt(context, 0);
    const { shape } = input;
    if (shape === undefined) return [fill(input.dtype, undefined, undefined)];
    const bounds = boundsByAxis(context, shape.length);
    if (bounds === undefined) return [fill(input.dtype, unknownShape(shape.length), undefined)];
    return [sliced(input, shape, bounds)];
  },
  axes(context) {
    const shape = tensorAt(context, 0).shape;
    const bounds = shape === undefined ? undefined : boundsByAxis(context, shape.length);
    if (bounds === undefined) context.blockAll("cuts axes that are not known");
    else sliceAxes(context, bounds);
  },
  lanes: keepLane,
});

/** What is known of each sliced axis; undefined where it is not known which axes are. */
function boundsByAxis(context: OpContext, rank: number): ReadonlyMap<number, SliceBounds> | undefined {
  const starts = listOf(context, "starts", 1);
  const ends = listOf(context, "ends", 2);
  const argument = axesArgument(context, 3, 10);
  const axes = axesOf(argument, starts.length ?? ends.length);
  if (axes === undefined) return undefined;
  for (const { length } of [starts, ends]) {
    if (length !== undefined && length !== axes.length) {
      throw new ShapeError(textOf`Slice of ${axes.length} axes has ${length} bounds`);
    }
  }
  const hasSteps = context.opset >= 10 && context.inputs[4] !== undefined;
  const steps = hasSteps ? elementsAt(context, 4) : axes.map(() => 1);
  return new Map(
    normalizeAxes(axes, rank).map((axis, at) => [
      axis,
      { start: starts.elements?.[at], end: ends.elements?.[at], step: steps?.[at] },
    ]),
  );
}

function axesOf(argument: AxesArgument, count: number | undefined): readonly number[] | undefined {
  if (argument.kind === "known") return argument.axes;
  return argument.kind === "unknown" || count === undefined ? undefined : [...Array(count).keys()];
}

function listOf(
  context: OpContext,
  attribute: string,
  input: number,
): { readonly elements: readonly Dim[] | undefined; readonly length: number | undefined } {
  if (context.opset < 10) {
    const elements = context.ints(attribute);
    return { elements, length: elements?.length };
  }
  const fact = tensorAt(context, input);
  return { elements: elementsOf(fact), length: lengthOf(fact) };
}

function sliced(input: TensorFact, shape: Shape, bounds: ReadonlyMap<number, SliceBounds>): TensorFact {
  const result = shape.map((size, axis) => {
    const bound = bounds.get(axis);
    return bound === undefined ? size : sliceExtent(size, bound);
  });
  const source = folded(input);
  const walk = source && walkOf(source.shape, bounds);
  if (source === undefined || walk === undefined) return fill(input.dtype, result, undefined);
  return fill(input.dtype, result, (position) =>
    elementAt(
      source,
      position.map((index, axis) => {
        const { start, step } = walk[axis] ?? { start: 0, step: 1 };
        return start + index * step;
      }),
    ),
  );
}

/** First position and step of every axis, where all bounds are plain numbers. */
function walkOf(
  shape: readonly number[],
  bounds: ReadonlyMap<number, SliceBounds>,
): { readonly start: number; readonly step: number }[] | undefined {
  const walk: { start: number; step: number }[] = [];
  for (const [axis, size] of shape.entries()) {
    const { start, end, step } = bounds.get(axis) ?? { start: 0, end: size, step: 1 };
    if (typeof start !== "number" || typeof end !== "number" || typeof step !== "number") return undefined;
    walk.push({ start: clampedBounds(size, start, end, step)[0], step });
  }
  return walk;
}
