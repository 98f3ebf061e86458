import { type Dim, unknownDim } from "../../ir/dim.ts";
import { defineOp } from "../op.ts";
import { normalizeAxis, tensor, tensorAt } from "../shape.ts";
import { half } from "../traits.ts";
import { scalarOf } from "./elements.ts";

/** Inputs: indices, depth, [off, on]. An axis of `depth` is added to the shape of the indices. */
export const oneHot = defineOp({
  domain: "",
  type: "OneHot",
  traits: {
    elements: "computed",
    half: half(9, undefined, { inputs: { 0: "float", 1: "float" } }),
    layout: "fixed",
    sameSince: 11,
    uses: { 0: { kind: "whole" }, 1: { kind: "count" } },
  },
  infer(context) {
    const { shape } = tensorAt(context, 0);
    const { dtype } = tensorAt(context, 2);
    if (shape === undefined) return [tensor(dtype, undefined)];
    const axis = normalizeAxis(context.int("axis") ?? -1, shape.length + 1);
    return [tensor(dtype, shape.toSpliced(axis, 0, wholeDepth(scalarOf(tensorAt(context, 1)))))];
  },
});

/** The depth may be of any numeric type; a fraction is cut off. */
function wholeDepth(depth: Dim | undefined): Dim {
  if (depth === undefined) return unknownDim();
  return typeof depth === "number" ? Math.trunc(depth) : depth;
}
