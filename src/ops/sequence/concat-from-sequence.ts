import { isUnknown, mulDims, type Shape, unknownDim } from "../../ir/dim.ts";
import { requiredInt } from "../movement/elements.ts";
import { defineOp } from "../op.ts";
import { asTensor, normalizeAxis, tensor } from "../shape.ts";
import { noHalf } from "../traits.ts";
import { oneElement, type SequenceFact, sequenceAt } from "./facts.ts";

/** The elements joined along `axis`, which is a new one with `new_axis` 1. */
export const concatFromSequence = defineOp({
  domain: "",
  type: "ConcatFromSequence",
  traits: { elements: "computed", half: noHalf({ isMixed: true }), layout: "fixed" },
  infer(context) {
    const source = sequenceAt(context, 0);
    const { dtype, shape } = asTensor(oneElement(source));
    if (shape === undefined) return [tensor(dtype, undefined)];
    const isNew = context.int("new_axis") === 1;
    const axis = normalizeAxis(requiredInt(context, "axis"), shape.length + (isNew ? 1 : 0));
    return [tensor(dtype, isNew ? stacked(shape, axis, source) : joined(shape, axis, source))];
  },
});

function stacked(shape: Shape, axis: number, { length }: SequenceFact): Shape {
  return shape.toSpliced(axis, 0, length ?? unknownDim());
}

function joined(shape: Shape, axis: number, { length }: SequenceFact): Shape {
  const size = shape[axis] ?? unknownDim();
  // A size the elements do not share says nothing about their sum.
  return shape.with(axis, length === undefined || isUnknown(size) ? unknownDim() : mulDims(size, length));
}
