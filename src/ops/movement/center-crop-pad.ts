import { isUnknown, type Shape, sameDim, unknownDim } from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import { largerOf } from "../elementwise/order.ts";
import { type BodyKernel, defineOp, ShapeError, type WorkContext } from "../op.ts";
import { elementsAt, tensor, tensorAt } from "../shape.ts";
import { allKernels, moveKernel } from "../traffic.ts";
import { half } from "../traits.ts";
import { normalizeAxes } from "./axes.ts";

/** The axes `axes` (default all) cut or padded around their middle to the sizes in input 1. */
export const centerCropPad = defineOp({
  domain: "",
  type: "CenterCropPad",
  traits: { elements: "moved", half: half(18, 18), layout: "fixed", sameSince: 18 },
  infer(context) {
    const { dtype, shape } = tensorAt(context, 0);
    if (shape === undefined) return [tensor(dtype, undefined)];
    const axes = normalizeAxes(context.ints("axes") ?? [...shape.keys()], shape.length);
    const sizes = elementsAt(context, 1);
    if (sizes !== undefined && sizes.length !== axes.length) {
      throw new ShapeError(textOf`has ${sizes.length} sizes, expected ${axes.length} as axes`);
    }
    const result = [...shape];
    for (const [at, axis] of axes.entries()) result[axis] = sizes?.[at] ?? unknownDim();
    return [tensor(dtype, result)];
  },
  body: padAndSlice,
});

/** A Pad to the larger of both sizes, and a Slice of that: each whether it changes something or not. */
function padAndSlice(context: WorkContext): readonly BodyKernel[] | undefined {
  const { dtype, shape: from } = tensorAt(context, 0);
  const [output] = context.outputs;
  const to = output?.kind === "tensor" ? output.shape : undefined;
  if (from === undefined || to === undefined) return undefined;
  const largest = from.map((dim, axis) => largerOf(dim, to[axis] ?? dim));
  return allKernels([
    moveKernel(tensor(dtype, largest), isSame(from, largest) ? "copy" : "pad"),
    moveKernel(tensor(dtype, to), isSame(largest, to) ? "copy" : "slice"),
  ]);
}

function isSame(one: Shape, other: Shape): boolean {
  return one.every((dim, axis) => {
    const size = other[axis];
    return size !== undefined && !isUnknown(dim) && sameDim(dim, size);
  });
}
