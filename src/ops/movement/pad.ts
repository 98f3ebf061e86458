/** @file Pad: every axis grown (or cut, where negative) at both ends. */

import { addDims, type Dim, type Shape, unknownDim } from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import { constantLane, finiteLane, passAxes } from "../axes.ts";
import { joinLanes, keepLane } from "../lanes.ts";
import { defineOp, type OpContext, ShapeError, type TensorFact } from "../op.ts";
import { elementsOf, numbersOf, tensorAt, unknownShape } from "../shape.ts";
import { half } from "../traits.ts";
import { axesArgument, normalizeAxes } from "./axes.ts";
import { elementAt, fill, folded, lengthOf, scalarOf } from "./elements.ts";

/** Attributes before opset 11; inputs (data, pads, value, axes) from then on. */
export const pad = defineOp({
  domain: "",
  type: "Pad",
  traits: { elements: "moved", half: half(1, 13), layout: "padded", sameSince: 11 },
  pass: "pad",
  infer(context) {
    const input = tensorAt(context, 0);
    const pads = padsOf(context, input.shape?.length);
    if (pads === undefined) {
      return [fill(input.dtype, input.shape && unknownShape(input.shape.length), undefined)];
    }
    const shape = input.shape ?? unknownShape(pads.begins.length);
    return [padded(input, paddedShape(shape, pads), pads.begins, fillerOf(context))];
  },
  axes(context) {
    const pads = padsOf(context, tensorAt(context, 0).shape?.length);
    passAxes(context, (axis) => pads?.begins[axis] === 0 && pads.ends[axis] === 0, "pads it");
  },
  /** Beside the lanes themselves, positions that this node adds. */
  lanes(context) {
    if ((context.string("mode") ?? "constant") !== "constant") return keepLane(context);
    const value = fillerOf(context);
    const added = typeof value === "number" ? constantLane(value) : finiteLane;
    return joinLanes([keepLane(context), added]);
  },
});

interface Pads {
  readonly begins: readonly Dim[];
  readonly ends: readonly Dim[];
}

/** Begin and end of every axis; undefined where the node computes them or the rank is not known. */
function padsOf(context: OpContext, rank: number | undefined): Pads | undefined {
  const input = tensorAt(context, 1);
  const given = context.opset < 11 ? context.ints("pads") : elementsOf(input);
  const axes = context.opset < 18 ? ({ kind: "absent" } as const) : axesArgument(context, 3, 18);
  const count = given?.length ?? lengthOf(input);
  if (axes.kind === "unknown" || (axes.kind === "known" && rank === undefined)) return undefined;
  if (count !== undefined && count % 2 !== 0)
    throw new ShapeError(textOf`has ${count} pads, expected two for each axis`);
  const padRank = rank ?? (count === undefined ? undefined : count / 2);
  if (given === undefined || padRank === undefined) return undefined;
  const listed = axes.kind === "known" ? normalizeAxes(axes.axes, padRank) : [...Array(padRank).keys()];
  if (given.length !== 2 * listed.length) {
    throw new ShapeError(
      textOf`has ${given.length} pads for ${listed.length} axes, expected ${2 * listed.length}`,
    );
  }
  const begins = new Array<Dim>(padRank).fill(0);
  const ends = new Array<Dim>(padRank).fill(0);
  for (const [at, axis] of listed.entries()) {
    begins[axis] = given[at] ?? unknownDim();
    ends[axis] = given[at + listed.length] ?? unknownDim();
  }
  return { begins, ends };
}

function paddedShape(shape: Shape, { begins, ends }: Pads): Shape {
  return shape.map((dim, axis) => {
    const size = addDims(addDims(dim, begins[axis] ?? 0), ends[axis] ?? 0);
    if (typeof size === "number" && size < 0) {
      throw new ShapeError(textOf`Pad of axis ${axis} of ${shape} leaves a size of ${size}`);
    }
    return size;
  });
}

/** The constant around the data; undefined where another mode repeats the data, or where it is not known. */
function fillerOf(context: OpContext): Dim | undefined {
  if ((context.string("mode") ?? "constant") !== "constant") return undefined;
  if (context.opset < 11) return context.float("value") ?? 0;
  return context.inputs[2] === undefined ? 0 : scalarOf(tensorAt(context, 2));
}

function padded(input: TensorFact, shape: Shape, pads: readonly Dim[], value: Dim | undefined): TensorFact {
  const source = folded(input);
  const begins = numbersOf(pads);
  if (source === undefined || begins === undefined || value === undefined)
    return fill(input.dtype, shape, undefined);
  return fill(input.dtype, shape, (position) => {
    const place = position.map((index, axis) => index - (begins[axis] ?? 0));
    const inside = place.every((index, axis) => index >= 0 && index < (source.shape[axis] ?? 0));
    return inside ? elementAt(source, place) : value;
  });
}
