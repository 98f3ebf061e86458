import { type Dim, unknownDim } from "../../ir/dim.ts";
import { defineOp } from "../op.ts";
import { normalizeAxis, numbersAt, tensor, tensorAt } from "../shape.ts";
import { half } from "../traits.ts";

/** The slices of an axis (without one: the elements) whose condition holds: as many as are true. */
export const compress = defineOp({
  domain: "",
  type: "Compress",
  traits: { elements: "moved", half: half(9, undefined), layout: "fixed", sameSince: 11 },
  infer(context) {
    const { dtype, shape } = tensorAt(context, 0);
    const kept: Dim = numbersAt(context, 1)?.filter((condition) => condition !== 0).length ?? unknownDim();
    const axis = context.int("axis");
    if (axis === undefined) return [tensor(dtype, [kept])];
    return [tensor(dtype, shape?.with(normalizeAxis(axis, shape.length), kept))];
  },
});
