/** @file Quantization of ai.onnx. */
import type { OpDefinition } from "../op.ts";
import { computes, half, noHalf } from "../traits.ts";
import { dequantizeOp, dynamicQuantizeLinear, quantizeOp } from "./linear.ts";
import { qLinearConv } from "./qlinear-conv.ts";
import { qLinearMatMul } from "./qlinear-matmul.ts";

export const quantizationOps: readonly OpDefinition[] = [
  quantizeOp("", computes(noHalf({ isMixed: true }), { layout: "scaled", sameSince: 13 })),
  dequantizeOp("", computes(half(19, 19, { isWide: true }), { layout: "scaled", sameSince: 13 })),
  dynamicQuantizeLinear,
  qLinearConv,
  qLinearMatMul,
];
