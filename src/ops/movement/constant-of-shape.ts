import { defineOp } from "../op.ts";
import { tensor, tensorAt } from "../shape.ts";
import { fill, scalarOf, shapeGivenBy } from "./elements.ts";

/** A tensor of the sizes in input 0, every element `value` (one element; default a float32 zero). */
export const constantOfShape = defineOp({
  domain: "",
  type: "ConstantOfShape",
  infer(context) {
    const value = context.tensor("value") ?? tensor("float32", [1], [0]);
    const element = scalarOf(value);
    const shape = shapeGivenBy(tensorAt(context, 0));
    return [fill(value.dtype, shape, element === undefined ? undefined : () => element)];
  },
});
