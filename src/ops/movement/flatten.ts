import { product, unknownDim } from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import { keepLane } from "../lanes.ts";
import { defineOp, ShapeError } from "../op.ts";
import { tensorAt } from "../shape.ts";
import { half } from "../traits.ts";
import { viewAs } from "./elements.ts";
import { regroupAxes } from "./regroup.ts";

/** A matrix: the axes before `axis` (default 1) by the axes from it on. */
export const flatten = defineOp({
  domain: "",
  type: "Flatten",
  traits: { elements: "same", half: half(1, 13), layout: "view", sameSince: 7, scale: "first" },
  traffic: "none",
  axes: regroupAxes,
  lanes: keepLane,
  infer(context) {
    const input = tensorAt(context, 0);
    const { shape } = input;
    if (shape === undefined) return [viewAs(input, [unknownDim(), unknownDim()])];
    const given = context.int("axis") ?? 1;
    const axis = given < 0 ? given + shape.length : given;
    // Unlike other axes it may equal the rank: then the columns are one.
    if (axis < 0 || axis > shape.length) {
      throw new ShapeError(textOf`Flatten axis ${given} is outside a tensor of rank ${shape.length}`);
    }
    return [viewAs(input, [product(shape.slice(0, axis)), product(shape.slice(axis))])];
  },
});
