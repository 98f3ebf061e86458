import { ceilDivDims, type Dim, divideExactly, type Shape, sameDim, unknownDim } from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import { lengthOf, scalarOf } from "../movement/elements.ts";
import { defineOp, type OpContext, ShapeError, type TensorFact } from "../op.ts";
import { elementsOf, normalizeAxis, tensor, tensorAt } from "../shape.ts";
import { noHalf } from "../traits.ts";
import { type SequenceFact, sequence } from "./facts.ts";

/** A tensor cut along `axis`: by a size (scalar input 1), by sizes (vector), or into single slices (no input). */
export const splitToSequence = defineOp({
  domain: "",
  type: "SplitToSequence",
  traits: { elements: "computed", half: noHalf({ isMixed: true }), layout: "fixed" },
  infer(context) {
    const input = tensorAt(context, 0);
    if (input.shape === undefined) return [sequence(tensor(input.dtype, undefined), undefined)];
    const axis = normalizeAxis(context.int("axis") ?? 0, input.shape.length);
    return [context.inputs[1] === undefined ? singles(context, input, axis) : parts(context, input, axis)];
  },
});

function singles(context: OpContext, { dtype, shape = [] }: TensorFact, axis: number): SequenceFact {
  const keepsAxis = (context.int("keepdims") ?? 1) !== 0;
  const piece = keepsAxis ? shape.with(axis, 1) : shape.toSpliced(axis, 1);
  return sequence(tensor(dtype, piece), shape[axis]);
}

function parts(context: OpContext, { dtype, shape = [] }: TensorFact, axis: number): SequenceFact {
  const sizes = tensorAt(context, 1);
  const dim = shape[axis] ?? unknownDim();
  const pieceOf = (size: Dim): TensorFact => tensor(dtype, shape.with(axis, size));
  if (sizes.shape?.length === 0) {
    const size = scalarOf(sizes);
    if (size === undefined) return sequence(pieceOf(unknownDim()), undefined);
    if (typeof size === "number" && size < 1)
      throw new ShapeError(textOf`SplitToSequence into parts of ${size}`);
    // The last part may be smaller.
    const same = divideExactly(dim, size) !== undefined;
    return sequence(pieceOf(same ? size : unknownDim()), ceilDivDims(dim, size));
  }
  return sequence(pieceOf(commonSize(elementsOf(sizes))), sizes.shape && lengthOf(sizes));
}

function commonSize(sizes: Shape | undefined): Dim {
  const [first, ...others] = sizes ?? [];
  return first !== undefined && others.every((size) => sameDim(size, first)) ? first : unknownDim();
}
