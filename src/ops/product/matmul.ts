/** @file MatMul and MatMulInteger: numpy's matmul. */
import { defineOp, type OpContext } from "../op.ts";
import { tensor, tensorAt } from "../shape.ts";
import { half, noHalf } from "../traits.ts";
import { matrixAxes, matrixLane } from "./matrix-axes.ts";
import { asStored, matrixProduct, matrixWork } from "./matrix-product.ts";
import { sharedType } from "./operands.ts";

export const matMul = defineOp({
  domain: "",
  type: "MatMul",
  traits: { elements: "computed", half: half(1, 13), layout: "fixed", sameSince: 7, scale: "weight-either" },
  product: true,
  infer(context) {
    return [tensor(operandType(context), sizes(context)?.output)];
  },
  work(context) {
    const work = matrixWork(sizes(context), operandType(context));
    return work && [work];
  },
  axes: (context) => matrixAxes(context, asStored),
  lanes: (context) => matrixLane(context, asStored),
});

/** Inputs A, B, their zero points; accumulates in int32. */
export const matMulInteger = defineOp({
  domain: "",
  type: "MatMulInteger",
  traits: { elements: "computed", half: noHalf(), layout: "fixed", sameSince: 10 },
  product: true,
  infer(context) {
    return [tensor("int32", sizes(context)?.output)];
  },
  work(context) {
    const work = matrixWork(sizes(context), "int8");
    return work && [work];
  },
  codes: { activation: { codes: 0, zero: 2 }, weights: [{ codes: 1, zero: 3 }] },
});

function sizes(context: OpContext) {
  return matrixProduct(tensorAt(context, 0).shape, tensorAt(context, 1).shape);
}

function operandType(context: OpContext) {
  return sharedType("A and B", tensorAt(context, 0), tensorAt(context, 1));
}
