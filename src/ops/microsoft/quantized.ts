/** @file Lane-by-lane operators, concatenations and reductions over quantized codes. */

import { addDims, type Dim, type Shape } from "../../ir/dim.ts";
import type { DType } from "../../ir/dtype.ts";
import { textOf } from "../../ir/message.ts";
import { defineOp, type OpContext, type OpDefinition, ShapeError, type TensorFact } from "../op.ts";
import { sharedType } from "../product/operands.ts";
import { dequantizeOp, quantizeOp } from "../quantization/linear.ts";
import { asTensor, broadcast, normalizeAxis, tensor, tensorAt, unify } from "../shape.ts";
import { computed, computes, noHalf } from "../traits.ts";
import { microsoft } from "./domain.ts";

/** Operands broadcast; each is followed by its scale and zero point. */
function broadcasting(type: string, operands: readonly number[], outputType?: DType): OpDefinition {
  return defineOp({
    domain: microsoft,
    type,
    traits: computed,
    traffic: "elementwise",
    infer(context) {
      const facts = operands.map((at) => tensorAt(context, at));
      const dtype = outputType ?? sharedType("operands", ...facts.filter((fact) => fact.dtype !== "bool"));
      return [tensor(dtype, broadcast(...facts.map((fact) => fact.shape)))];
    },
  });
}

/** Scale and zero point of y, then (tensor, scale, zero point) for each part. */
const qLinearConcat = defineOp({
  domain: microsoft,
  type: "QLinearConcat",
  traits: computed,
  traffic: "copy",
  infer(context) {
    const parts: TensorFact[] = [];
    for (let at = 2; at < context.inputs.length; at += 3) parts.push(asTensor(context.inputs[at]));
    return [tensor(tensorAt(context, 1).dtype, concatenated(context, parts))];
  },
});

function concatenated(context: OpContext, parts: readonly TensorFact[]): Shape | undefined {
  const stated = context.int("axis");
  if (stated === undefined) throw new ShapeError("the attribute axis is missing");
  let result: Shape | undefined;
  for (const { shape } of parts) {
    if (shape === undefined) return undefined;
    result = result === undefined ? shape : append(result, shape, normalizeAxis(stated, shape.length));
  }
  return result;
}

function append(before: Shape, part: Shape, axis: number): Shape {
  if (before.length !== part.length) {
    throw new ShapeError(textOf`cannot concatenate ranks ${before.length} and ${part.length}`);
  }
  return before.map((dim, at) => {
    const other: Dim = part[at] ?? dim;
    return at === axis ? addDims(dim, other) : unify(dim, other, `axis ${at}`);
  });
}

/** Attributes axes and keepdims, as ReduceMean had before opset 18. */
const qLinearReduceMean = defineOp({
  domain: microsoft,
  type: "QLinearReduceMean",
  traits: computed,
  traffic: "reduction",
  infer(context) {
    const { dtype, shape } = tensorAt(context, 0);
    return [tensor(dtype, shape && reducedShape(context, shape))];
  },
});

function reducedShape(context: OpContext, shape: Shape): Shape {
  const stated = context.ints("axes") ?? [];
  const axes = new Set(stated.map((axis) => normalizeAxis(axis, shape.length)));
  const reduces = (at: number) => axes.size === 0 || axes.has(at);
  if ((context.int("keepdims") ?? 1) !== 0) return shape.map((dim, at) => (reduces(at) ? 1 : dim));
  return shape.filter((_, at) => !reduces(at));
}

/** Codes by a scale of their own: as those of ai.onnx, in FP32. */
const codes = computes(noHalf(), { layout: "scaled" });

export const quantizedOps: readonly OpDefinition[] = [
  quantizeOp(microsoft, codes),
  dequantizeOp(microsoft, codes),
  broadcasting("QLinearAdd", [0, 3]),
  broadcasting("QLinearMul", [0, 3]),
  // condition, x with scale and zero point, y likewise.
  broadcasting("QLinearWhere", [0, 1, 4]),
  // Each operand is followed by its zero point alone.
  broadcasting("MulInteger", [0, 2], "int32"),
  qLinearConcat,
  qLinearReduceMean,
];
