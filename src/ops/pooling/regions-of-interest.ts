/** @file RoiAlign and MaxRoiPool: a fixed grid from each region of interest. */

import { type Dim, unknownDim } from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import { defineOp, type OpContext, ShapeError } from "../op.ts";
import { tensor, tensorAt, unify } from "../shape.ts";
import { checkedSize } from "../size.ts";
import { noHalf } from "../traits.ts";

/** x [N, C, H, W], rois [R, 4], batch indices [R] to [R, C, output_height, output_width]. */
export const roiAlign = defineOp({
  domain: "",
  type: "RoiAlign",
  traits: { elements: "computed", half: noHalf({ isMixed: true }), layout: "fixed", sameSince: 16 },
  infer(context) {
    const regions = unify(regionsOf(context, 1), regionsOf(context, 2), "rois and their batch indices");
    const grid = ["output_height", "output_width"].map((name) => checkedSize(context.int(name) ?? 1, name));
    return [tensor(tensorAt(context, 0).dtype, [regions, channelsOf(context), ...grid])];
  },
  traffic: "pool",
});

/** x [N, C, H, W], rois [R, 5] to [R, C, …pooled_shape]. */
export const maxRoiPool = defineOp({
  domain: "",
  type: "MaxRoiPool",
  traits: { elements: "computed", half: noHalf({ isMixed: true }), layout: "fixed" },
  infer(context) {
    const given = context.ints("pooled_shape")?.map((size) => checkedSize(size, "pooled_shape"));
    const grid = given ?? [unknownDim(), unknownDim()];
    return [tensor(tensorAt(context, 0).dtype, [regionsOf(context, 1), channelsOf(context), ...grid])];
  },
  traffic: "pool",
});

function regionsOf(context: OpContext, index: number): Dim {
  return tensorAt(context, index).shape?.[0] ?? unknownDim();
}

function channelsOf(context: OpContext): Dim {
  const { shape } = tensorAt(context, 0);
  if (shape !== undefined && shape.length !== 4) {
    throw new ShapeError(textOf`the input has rank ${shape.length}, expected 4`);
  }
  return shape?.[1] ?? unknownDim();
}
