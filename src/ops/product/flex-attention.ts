/** @file FlexAttention (ai.onnx.preview): Q, K, V of rank 4, with subgraphs that rewrite scores and probabilities. */
import { dtypeOfCode } from "../../ir/dtype.ts";
import { defineOp, type OpContext } from "../op.ts";
import { tensor, tensorAt } from "../shape.ts";
import { computed } from "../traits.ts";
import { attentionOutput, attentionSizes, attentionWork, headSizes } from "./heads.ts";
import { requireRank, sharedType } from "./operands.ts";

export const flexAttention = defineOp({
  domain: "ai.onnx.preview",
  type: "FlexAttention",
  traits: computed,
  product: true,
  infer(context) {
    const sizes = sizesOf(context);
    const { batch, heads, queryLength, keyLength } = sizes;
    const scores = tensor(softmaxType(context), [batch, heads, queryLength, keyLength]);
    // Their shape is fixed by definition; only the nodes inside want facts.
    for (const name of ["score_mod", "prob_mod"]) {
      const modifier = context.graph(name);
      if (modifier !== undefined) context.inferGraph(modifier, [scores]);
    }
    return [tensor(operandType(context), attentionOutput(sizes, 4))];
  },
  work(context) {
    const work = attentionWork(sizesOf(context), operandType(context), false, false);
    return work && [work];
  },
});

function operandType(context: OpContext) {
  return sharedType("Q, K and V", tensorAt(context, 0), tensorAt(context, 1), tensorAt(context, 2));
}

/** Stated, else double for double and float for everything narrower. */
function softmaxType(context: OpContext) {
  const stated = dtypeOfCode(context.int("softmax_precision") ?? 0);
  if (stated !== undefined) return stated;
  const dtype = operandType(context);
  return dtype === undefined || dtype === "float64" ? dtype : "float32";
}

function sizesOf(context: OpContext) {
  const operand = (at: number, what: string) => {
    const fact = tensorAt(context, at);
    requireRank(fact, [4], what);
    return headSizes(fact, undefined, what);
  };
  return attentionSizes(operand(0, "Q"), operand(1, "K"), operand(2, "V"), 0);
}
