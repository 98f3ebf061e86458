/** @file QLinearMatMul: a, its scale and zero point; b, likewise; scale and zero point of y. */
import { defineOp, type OpContext } from "../op.ts";
import { matrixProduct, matrixWork } from "../product/matrix-product.ts";
import { tensor, tensorAt } from "../shape.ts";
import { noHalf } from "../traits.ts";
import { qLinearCodes } from "./linear.ts";

export const qLinearMatMul = defineOp({
  domain: "",
  type: "QLinearMatMul",
  traits: { elements: "computed", half: noHalf({ isMixed: true }), layout: "fixed", sameSince: 10 },
  product: true,
  operands: [0, 3],
  codes: qLinearCodes,
  infer(context) {
    return [tensor(tensorAt(context, 7).dtype, sizes(context)?.output)];
  },
  work(context) {
    // Codes of 8 bits, or of an 8-bit float from opset 21 on.
    const work = matrixWork(sizes(context), tensorAt(context, 0).dtype ?? "int8");
    return work && [work];
  },
});

function sizes(context: OpContext) {
  return matrixProduct(tensorAt(context, 0).shape, tensorAt(context, 3).shape);
}
