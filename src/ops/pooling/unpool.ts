/** @file MaxUnpool: the inverse of MaxPool, given its indices. */
import { addDims, type Dim, mulDims, type Shape } from "../../ir/dim.ts";
import { defineOp, type OpContext } from "../op.ts";
import { numbersOf, tensor, tensorAt, unknownShape } from "../shape.ts";
import { checkedSize, elementSizes } from "../size.ts";
import { half } from "../traits.ts";
import { resolveWindow } from "../window.ts";

export const maxUnpool = defineOp({
  domain: "",
  type: "MaxUnpool",
  traits: { elements: "chosen", half: half(9, 22), layout: "fixed" },
  infer: (context) => [tensor(tensorAt(context, 0).dtype, unpooledShape(context))],
});

function unpooledShape(context: OpContext): Shape | undefined {
  const { shape } = tensorAt(context, 0);
  // Given sizes win over the ones that pads would give.
  if (context.inputs[2] !== undefined) {
    const rank = shape?.length ?? numbersOf(tensorAt(context, 2).shape)?.[0];
    return elementSizes(context, 2, "output_shape") ?? (rank === undefined ? undefined : unknownShape(rank));
  }
  const kernel = context.ints("kernel_shape");
  if (shape === undefined || kernel === undefined) return shape && unknownShape(shape.length);
  const { strides, padsBegin, padsEnd } = resolveWindow(context, shape.length - 2, kernel);
  const spatial = shape.slice(2).map((size, axis): Dim => {
    const covered = addDims(mulDims(addDims(size, -1), strides[axis] ?? 1), kernel[axis] ?? 1);
    return checkedSize(addDims(covered, -(padsBegin[axis] ?? 0) - (padsEnd[axis] ?? 0)), "output size");
  });
  return [...shape.slice(0, 2), ...spatial];
}
