/** @file Matrix products with transposes, scales or activations fused in. */
import type { Shape } from "../../ir/dim.ts";
import { type DType, dtypeOfCode } from "../../ir/dtype.ts";
import { zeroOrFinite } from "../lanes.ts";
import { defineOp, type OpContext, type OpDefinition } from "../op.ts";
import { gemmOpWork, gemmSizes, inferGemm, orientationOf } from "../product/gemm.ts";
import { matrixAxes, matrixLane } from "../product/matrix-axes.ts";
import { matrixProduct, matrixWork } from "../product/matrix-product.ts";
import { multiplyType, sharedType } from "../product/operands.ts";
import { qLinearCodes } from "../quantization/linear.ts";
import { asTensor, tensor, tensorAt, unknownTensor } from "../shape.ts";
import { computed, computes, half, type Traits } from "../traits.ts";
import { microsoft } from "./domain.ts";

type TypeOf = (context: OpContext) => DType | undefined;

const operandType: TypeOf = (context) => sharedType("A and B", tensorAt(context, 0), tensorAt(context, 1));
const typeOfInput =
  (at: number): TypeOf =>
  (context) =>
    tensorAt(context, at).dtype;
const always =
  (dtype: DType): TypeOf =>
  () =>
    dtype;

function flag(context: OpContext, name: string): boolean {
  return (context.int(name) ?? 0) !== 0;
}

/** A first and B second, batched as in MatMul. Attributes that an operator lacks read as 0. */
function matMul(
  type: string,
  traits: Traits,
  outputType: TypeOf,
  computeType: TypeOf,
  more?: Pick<OpDefinition, "axes" | "lanes" | "codes">,
): OpDefinition {
  const sizes = (context: OpContext) => {
    const a = batchFirst(tensorAt(context, 0).shape, flag(context, "transBatchA"));
    const b = batchFirst(tensorAt(context, 1).shape, flag(context, "transBatchB"));
    return matrixProduct(a, b, { transA: flag(context, "transA"), transB: flag(context, "transB") });
  };
  return defineOp({
    domain: microsoft,
    type,
    traits,
    product: true,
    infer: (context) => [tensor(outputType(context), sizes(context)?.output)],
    work: (context) => {
      const work = matrixWork(sizes(context), computeType(context));
      return work && [work];
    },
    ...more,
  });
}

/** Multiplied by alpha: constants other than zero do not survive. */
const scaledProduct: Pick<OpDefinition, "axes" | "lanes"> = {
  axes(context) {
    const swapped = flag(context, "transBatchA") || flag(context, "transBatchB");
    if (swapped) return context.blockAll("stores rows in front of its batches");
    matrixAxes(context, orientationOf(context));
  },
  lanes: (context) => zeroOrFinite(matrixLane(context, orientationOf(context))),
};

/** With transBatch the first axis of the matrix is stored in front of the batch axes. */
function batchFirst(shape: Shape | undefined, transposed: boolean): Shape | undefined {
  const [row, ...rest] = shape ?? [];
  const column = rest.at(-1);
  if (!transposed || row === undefined || column === undefined) return shape;
  return [...rest.slice(0, -1), row, column];
}

/** Both operands of 16 bits; unsigned only where both are. */
const wideSumType: TypeOf = (context) => {
  const types = [tensorAt(context, 0).dtype, tensorAt(context, 1).dtype];
  if (types.includes("int16")) return "int32";
  return types.includes(undefined) ? undefined : "uint32";
};

/** A, its scale and zero point; B, likewise; C; scale and zero point of Y, without which Y is float. */
const qGemm = defineOp({
  domain: microsoft,
  type: "QGemm",
  traits: computed,
  product: true,
  codes: qLinearCodes,
  infer(context) {
    const { m, n } = qGemmSizes(context);
    const zeroPoint = context.inputs[8];
    return [tensor(zeroPoint === undefined ? "float32" : asTensor(zeroPoint).dtype, [m, n])];
  },
  work(context) {
    const { m, n, k, transA, transB } = qGemmSizes(context);
    return [{ kind: "gemm", batch: 1, m, n, k, transA, transB, sharedB: true, dtype: "int8" }];
  },
});

function qGemmSizes(context: OpContext) {
  const [transA, transB] = [flag(context, "transA"), flag(context, "transB")];
  const [a, b, c] = [tensorAt(context, 0), tensorAt(context, 3), tensorAt(context, 6)];
  return { transA, transB, ...gemmSizes(a, b, c, transA, transB) };
}

/** A and B of 8-bit floats with scales, or of any float; `dtype` states Y's type, float by default. */
const gemmFloat8 = defineOp({
  domain: microsoft,
  type: "GemmFloat8",
  traits: computed,
  product: true,
  infer(context) {
    const { m, n } = float8Sizes(context);
    return [tensor(dtypeOfCode(context.int("dtype") ?? 1), [m, n])];
  },
  work(context) {
    const dtype = multiplyType(tensorAt(context, 0).dtype ?? tensorAt(context, 1).dtype);
    if (dtype === undefined) return undefined;
    const { m, n, k, transA, transB } = float8Sizes(context);
    return [{ kind: "gemm", batch: 1, m, n, k, transA, transB, sharedB: true, dtype }];
  },
});

function float8Sizes(context: OpContext) {
  const [transA, transB] = [flag(context, "transA"), flag(context, "transB")];
  const sizes = gemmSizes(tensorAt(context, 0), tensorAt(context, 1), unknownTensor, transA, transB);
  return { transA, transB, ...sizes };
}

export const matMulOps: readonly OpDefinition[] = [
  matMul("FusedMatMul", computes(half(1, 1)), operandType, operandType, scaledProduct),
  matMul("FusedMatMulActivation", computes(half(1, undefined)), operandType, operandType),
  matMul("TransposeMatMul", computes(half(1, 1)), operandType, operandType, scaledProduct),
  matMul("GemmFastGelu", computes(half(1, 1)), operandType, operandType),
  matMul("MatMulInteger16", computed, wideSumType, always("int16")),
  // A, B, their scales, their zero points.
  matMul("MatMulIntegerToFloat", computed, typeOfInput(2), always("int8"), {
    codes: { activation: { codes: 0, scale: 2, zero: 4 }, weights: [{ codes: 1, scale: 3, zero: 5 }] },
  }),
  // A, which it quantizes; B, its scale and zero point.
  matMul("DynamicQuantizeMatMul", computed, typeOfInput(0), always("int8"), {
    codes: { activation: "uint8", weights: [{ codes: 1, scale: 2, zero: 3 }] },
  }),
  defineOp({
    domain: microsoft,
    type: "FusedGemm",
    traits: { elements: "computed", half: half(1, undefined), layout: "fixed" },
    product: true,
    infer: inferGemm,
    work: gemmOpWork,
  }),
  qGemm,
  gemmFloat8,
];
