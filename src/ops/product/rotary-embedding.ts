/** @file RotaryEmbedding (ai.onnx 23): rotates X [B,H,S,D] or [B,S,H·D] in place. */
import { defineOp } from "../op.ts";
import { tensor, tensorAt } from "../shape.ts";
import { half } from "../traits.ts";
import { requireRank } from "./operands.ts";

export const rotaryEmbedding = defineOp({
  domain: "",
  type: "RotaryEmbedding",
  traits: {
    elements: "computed",
    half: half(23, 23),
    layout: "fixed",
    uses: { 3: { kind: "index", table: 1, axis: "first" } },
  },
  traffic: "elementwise",
  infer(context) {
    const { dtype, shape } = tensorAt(context, 0);
    requireRank(tensorAt(context, 0), [3, 4], "X");
    return [tensor(dtype, shape)];
  },
});
