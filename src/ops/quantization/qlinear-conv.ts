/** @file QLinearConv: x, its scale and zero point; w, likewise; scale and zero point of y; bias. */
import { defineOp, type OpContext, type OpDefinition } from "../op.ts";
import { convGeometry, convOutputShape, convWork } from "../product/conv-geometry.ts";
import { tensor, tensorAt } from "../shape.ts";
import { computes, noHalf, type Traits } from "../traits.ts";
import { qLinearCodes } from "./linear.ts";

/** `layoutOf` tells whether x and y have their channels last; w keeps [M, C/group, spatial…] either way. */
export function qLinearConvOp(
  domain: string,
  traits: Traits,
  layoutOf: (context: OpContext) => "nchw" | "nhwc",
): OpDefinition {
  const geometryOf = (context: OpContext) =>
    convGeometry(context, {
      x: tensorAt(context, 0),
      w: tensorAt(context, 3),
      bias: tensorAt(context, 8),
      layout: layoutOf(context),
      weightChannels: "second",
    });
  return defineOp({
    domain,
    type: "QLinearConv",
    traits,
    product: true,
    operands: [0, 3],
    codes: qLinearCodes,
    infer: (context) => [tensor(tensorAt(context, 7).dtype, convOutputShape(geometryOf(context)))],
    work: (context) => convWork(geometryOf(context), "int8"),
  });
}

export const qLinearConv = qLinearConvOp("", computes(noHalf(), { sameSince: 10 }), () => "nchw");
