import { type AttentionWork, type GemmWork, scale, type TrafficWork } from "../src/lint/context.ts";
import { dtypes } from "../src/lint/formats.ts";
import { defineRule } from "../src/lint/rule.ts";

/**
 * ## What it does
 * Finds attention that the model writes out as MatMul, scale, mask, Softmax and MatMul, on a target with a fused kernel
 * that takes its head_dim.
 *
 * ## Why is this bad?
 * Written out, the scores of every query with every key go to memory and come back three or four times: for a sequence
 * of 2048 and 16 heads that is 128 MiB in FP16, each pass. A fused kernel keeps them on the chip. Some stacks recognise the
 * pattern, and any deviation from it (a Cast, an odd mask, a Reshape in between) makes them miss it without a word.
 *
 * The model's predicted time counts the attention as fused; the saving is what is lost where the stack does not see it.
 *
 * ## Example
 * ```onnx
 * p = Softmax(Add(Mul(MatMul(q, kt), scale), mask))
 * y = MatMul(p, v)
 * ```
 *
 * ## Use instead
 * ```onnx
 * y = Attention<scale = 0.125>(q, k, v, mask)    # ai.onnx opset 23, or MultiHeadAttention of com.microsoft
 * ```
 * In PyTorch: `torch.nn.functional.scaled_dot_product_attention`, exported with opset 23 or later.
 *
 * ## Fix safety
 * No fix: which fused operator a deployment has is not written in the model.
 *
 * ## References
 * - [Attention, ONNX operators](https://onnx.ai/onnx/operators/onnx__Attention.html)
 */
export default defineRule({
  code: "TC401",
  name: "unfused-attention",
  severity: "info",
  fix: "none",
  messages: {
    unfused:
      "attention of {heads} heads of {headDim}, {queryLength}×{keyLength}, is written as {nodes} nodes: {stack} has a fused kernel",
  },
  *check(context) {
    const { stack } = context.target;
    if (!stack.fuses.attention) return;
    const largest = stack.attention.headDimSteps.reduce((most, step) => Math.max(most, step), 0);
    for (const product of context.products) {
      const work = product.sizes;
      if (work.kind !== "attention" || product.decomposed === undefined || work.headDim > largest) continue;
      const fused = context.savingOf(writtenOut(work), [work]);
      const saves = scale(fused, product.runs);
      if (!(saves.microseconds > 0)) continue;
      const { heads, headDim, queryLength, keyLength } = work;
      const data = { heads, headDim, queryLength, keyLength, nodes: product.nodes.length, stack: stack.id };
      yield { at: product, message: "unfused", data, saves };
    }
  },
});

/** Two products with the scores in memory between them, softmax over each row, and a pass that scales or masks. */
function writtenOut(work: AttentionWork<number>): (GemmWork<number> | TrafficWork<number>)[] {
  const { heads, queryLength, keyLength, headDim, valueHeadDim, dtype } = work;
  const batch = work.batch * heads;
  const rows = batch * queryLength;
  const bytes = (rows * keyLength * dtypes[dtype].bits) / 8;
  const gemm = { kind: "gemm", batch, m: queryLength, transA: false, sharedB: false, dtype } as const;
  const pass = {
    kind: "traffic",
    rows,
    columns: keyLength,
    bytesRead: bytes,
    bytesWritten: bytes,
    dtype,
  } as const;
  return [
    { ...gemm, n: keyLength, k: headDim, transB: true },
    { ...pass, pattern: "elementwise" },
    { ...pass, pattern: "normalization" },
    { ...gemm, n: valueHeadDim, k: keyLength, transB: false },
  ];
}
