/** @file Shape and Size: where a model starts to compute with its own shapes. */

import { unknownDim } from "../../ir/dim.ts";
import { blockAxes } from "../axes.ts";
import { defineOp, type OpContext } from "../op.ts";
import { tensor, tensorAt } from "../shape.ts";
import { half } from "../traits.ts";
import { countOf } from "./elements.ts";

/** Sizes of the axes [start, end) as an int64 vector. */
export const shapeOf = defineOp({
  domain: "",
  type: "Shape",
  traits: {
    elements: "computed",
    half: half(1, 13, { inputs: { 0: "any" } }),
    layout: "fixed",
    sameSince: 7,
  },
  traffic: "none",
  infer(context) {
    const { shape } = tensorAt(context, 0);
    if (shape === undefined) return [tensor("int64", [unknownDim()])];
    const [start, end] = rangeOfAxes(context, shape.length);
    const sizes = shape.slice(start, Math.max(start, end));
    return [tensor("int64", [sizes.length], sizes)];
  },
  axes(context) {
    const [start] = rangeOfAxes(context, tensorAt(context, 0).shape?.length ?? 0);
    const read = [...context.elementsRead(0)].map((position) => start + position);
    blockAxes(context, 0, read, "reads its size");
  },
});

/** Number of elements as an int64 scalar. */
export const sizeOfTensor = defineOp({
  domain: "",
  type: "Size",
  traits: {
    elements: "computed",
    half: half(1, 13, { inputs: { 0: "any" } }),
    layout: "fixed",
    sameSince: 7,
  },
  traffic: "none",
  infer(context) {
    const count = countOf(tensorAt(context, 0).shape);
    return [tensor("int64", [], count === undefined ? undefined : [count])];
  },
  axes: (context) => context.blockAll("reads its size"),
});

/** Bounds count from the end where negative, and are clamped to the rank. */
function rangeOfAxes(context: OpContext, rank: number): [start: number, end: number] {
  const clamp = (axis: number) => Math.min(rank, Math.max(0, axis < 0 ? axis + rank : axis));
  return [clamp(context.int("start") ?? 0), clamp(context.int("end") ?? rank)];
}
