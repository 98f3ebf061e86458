import { unknownDim } from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import { defineOp, ShapeError } from "../op.ts";
import { elementsAt, tensor, tensorAt } from "../shape.ts";
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
});
