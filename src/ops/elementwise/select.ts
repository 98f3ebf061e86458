/** @file Operators that pass elements on, some of them changed: Where, Clip, Identity, Dropout. */
import { type Dim, sameDim, unknownDim } from "../../ir/dim.ts";
import { broadcastAxes, finiteLane, sameAxes } from "../axes.ts";
import { bounded, finiteIfKnown, foldLanes as foldPaddedLanes, keepLane } from "../lanes.ts";
import { defineOp, type OpContext, type TensorFact } from "../op.ts";
import { broadcast, numbersAt, tensor, tensorAt } from "../shape.ts";
import { half } from "../traits.ts";
import { type Fold, foldLanes } from "./fold.ts";
import { whereLane } from "./lanes.ts";
import { largerOf, smallerOf } from "./order.ts";

const chooseLane: Fold = ([condition, whenTrue, whenFalse]) => {
  if (whenTrue === undefined || whenFalse === undefined) return unknownDim();
  if (typeof condition === "number") return condition === 0 ? whenFalse : whenTrue;
  return sameDim(whenTrue, whenFalse) ? whenTrue : unknownDim();
};

export const where = defineOp({
  domain: "",
  type: "Where",
  traits: {
    elements: "picked",
    half: half(9, 16),
    layout: "lanewise",
    sameSince: 9,
    scale: "all",
    uses: { 0: { kind: "mask" } },
    keepsDigits: true,
  },
  infer(context) {
    const inputs = [tensorAt(context, 0), tensorAt(context, 1), tensorAt(context, 2)];
    const shape = broadcast(...inputs.map((input) => input.shape));
    const dtype = inputs[1]?.dtype ?? inputs[2]?.dtype;
    return [tensor(dtype, shape, foldLanes(inputs, shape, dtype, chooseLane))];
  },
  axes: broadcastAxes,
  lanes: whereLane,
  traffic: "elementwise",
  pass: "add",
});

export const clip = defineOp({
  domain: "",
  type: "Clip",
  traits: { elements: "computed", half: half(1, 13), layout: "lanewise", sameSince: 11, keepsDigits: true },
  infer(context) {
    const input = tensorAt(context, 0);
    const low = boundOf(context, 1, "min", -Infinity);
    const high = boundOf(context, 2, "max", Infinity);
    const elements = input.elements?.map((value) => smallerOf(largerOf(value, low), high));
    return [tensor(input.dtype, input.shape, elements)];
  },
  axes: sameAxes,
  lanes(context, output) {
    const [low, high] = [boundOf(context, 1, "min", -Infinity), boundOf(context, 2, "max", Infinity)];
    const clamp = ([x = 0]: readonly number[]) => {
      const clamped = smallerOf(largerOf(x, low), high);
      return typeof clamped === "number" ? clamped : undefined;
    };
    const lane = keepLane(context);
    const clipped = foldPaddedLanes(context, output, [lane], clamp, finiteIfKnown(lane));
    return Number.isFinite(low) && Number.isFinite(high) ? bounded(context, clipped) : clipped;
  },
  traffic: "elementwise",
  pass: "relu",
});

/** An attribute before opset 11, an input since; an omitted one does not bound. */
function boundOf(context: OpContext, index: number, attribute: string, none: number): Dim {
  if (context.opset < 11) return context.float(attribute) ?? none;
  return context.inputs[index] === undefined
    ? none
    : (tensorAt(context, index).elements?.[0] ?? unknownDim());
}

/** Sequences, optionals and maps pass unchanged, too. */
export const identity = defineOp({
  domain: "",
  type: "Identity",
  traits: {
    elements: "same",
    half: half(1, 13),
    layout: "fixed",
    sameSince: 7,
    scale: "first",
    keepsDigits: true,
  },
  infer: (context) => [context.inputs[0]],
  axes: sameAxes,
  lanes: keepLane,
  traffic: "none",
});

/** An identity unless training is asked for. The mask is boolean since opset 10. */
export const dropout = defineOp({
  domain: "",
  type: "Dropout",
  traits: {
    elements: "computed",
    half: half(1, 13, { inputs: { 1: "float" } }),
    layout: "fixed",
    sameSince: 12,
    scale: "first",
  },
  random: "in-training",
  infer(context) {
    const input = tensorAt(context, 0);
    const output: TensorFact = isTraining(context) ? tensor(input.dtype, input.shape) : input;
    return [output, tensor(context.opset < 10 ? input.dtype : "bool", input.shape)];
  },
  axes(context) {
    // The mask is drawn element by element: another shape gets another one.
    if (isTraining(context)) return context.blockAll("draws a mask of its shape");
    sameAxes(context);
    const axes = context.axesOf(0);
    if (axes !== undefined) context.setAxes(1, axes);
  },
  lanes: (context, output) => (output > 0 ? finiteLane : keepLane(context)),
  traffic: "none",
});

/** Whether elements may be dropped: since opset 12, when input 2 is not known to be false; before 7, unless `is_test`. */
function isTraining(context: OpContext): boolean {
  if (context.opset < 7) return context.int("is_test") !== 1;
  return context.inputs[2] !== undefined && numbersAt(context, 2)?.[0] !== 0;
}
