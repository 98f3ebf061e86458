/** @file RotaryEmbedding (ai.onnx 23): rotates X [B,H,S,D] or [B,S,H·D] in place. */
import { defineOp } from "../op.ts";
import { tensor, tensorAt } from "../shape.ts";
import { requireRank } from "./operands.ts";

export const rotaryEmbedding = defineOp({
  domain: "",
  type: "RotaryEmbedding",
  traffic: "elementwise",
  infer(context) {
    const { dtype, shape } = tensorAt(context, 0);
    requireRank(tensorAt(context, 0), [3, 4], "X");
    return [tensor(dtype, shape)];
  },
});
