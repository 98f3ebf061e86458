/** @file Quantization of ai.onnx. */
import type { OpDefinition } from "../op.ts";
import { dequantizeOp, dynamicQuantizeLinear, quantizeOp } from "./linear.ts";
import { qLinearConv } from "./qlinear-conv.ts";
import { qLinearMatMul } from "./qlinear-matmul.ts";

export const quantizationOps: readonly OpDefinition[] = [
  quantizeOp(""),
  dequantizeOp(""),
  dynamicQuantizeLinear,
  qLinearConv,
  qLinearMatMul,
];
