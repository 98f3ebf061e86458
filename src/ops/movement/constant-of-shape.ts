import { constantLane, finiteLane, type Lane } from "../axes.ts";
import { defineOp, type OpContext, type TensorFact } from "../op.ts";
import { tensor, tensorAt } from "../shape.ts";
import { half } from "../traits.ts";
import { fill, scalarOf, shapeGivenBy } from "./elements.ts";
import { constantAxes } from "./repeat-axes.ts";

/** A tensor of the sizes in input 0, every element `value` (one element; default a float32 zero). */
export const constantOfShape = defineOp({
  domain: "",
  type: "ConstantOfShape",
  traits: {
    elements: "computed",
    half: half(9, 20),
    layout: "fixed",
    sameSince: 9,
    uses: { 0: { kind: "count" } },
  },
  axes: constantAxes,
  lanes: valueLane,
  infer(context) {
    const value = constantOf(context);
    const element = scalarOf(value);
    const shape = shapeGivenBy(tensorAt(context, 0));
    return [fill(value.dtype, shape, element === undefined ? undefined : () => element)];
  },
});

function constantOf(context: OpContext): TensorFact {
  return context.tensor("value") ?? tensor("float32", [1], [0]);
}

function valueLane(context: OpContext): Lane {
  const element = scalarOf(constantOf(context));
  return typeof element === "number" ? constantLane(element) : finiteLane;
}
