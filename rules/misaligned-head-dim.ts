import { alignedHeads } from "../src/lint/aligned-heads.ts";
import type { AttentionWork } from "../src/lint/context.ts";
import { defineRule } from "../src/lint/rule.ts";
import { headsOffMultiple } from "../src/lint/written-heads.ts";

/**
 * ## What it does
 * Finds attention whose head_dim is off the multiple that the stack's fused kernels take: 8 everywhere so far. Where the stack runs attention as the
 * products that it is written as, head_dim is the depth of one and the width of the other: the multiple is that of their format.
 *
 * ## Why is this bad?
 * A fused attention kernel loads each head's row 16 bytes at a time. A head_dim off a multiple of 8 is refused by the
 * fast backends, and a slower one runs.
 *
 * Measured on an H200 with cuDNN 9.19 (FP16, sequence of 2048): head_dim from 40 to 36 takes 159 to 333 µs, from 56 to
 * 60 154 to 319 µs, from 96 to 100 213 to 578 µs. Multiples of 8 inside one kernel step (40, 48, 56, 64) take the same
 * time, so such a head_dim is not reported.
 *
 * ## Example
 * ```onnx
 * y = Attention(q, k, v)   # q, k, v: [1, 8, 2048, 36]
 * ```
 *
 * ## Use instead
 * ```onnx
 * y = Attention(q, k, v)   # q, k, v: [1, 8, 2048, 40], zeros in the last four; the scale stays 1/√36
 * ```
 *
 * ## Fix safety
 * Safe: zeros add nothing to a score, and the padded lanes of the result meet zero weights. The scale of the scores
 * must stay that of the true head_dim, which the fix writes out.
 *
 * ## References
 * - [cuDNN developer guide, scaled dot product attention](https://docs.nvidia.com/deeplearning/cudnn/latest/)
 */
export default defineRule({
  code: "TC103",
  name: "misaligned-head-dim",
  severity: "warn",
  fix: "safe",
  messages: {
    misaligned:
      "head_dim {headDim} is off the multiple of {multiple}: fast attention kernels refuse it; pad to {padded}",
    written:
      "head_dim {headDim} is off the multiple of {multiple}: both products of the attention run slower {format} kernels; pad to {padded}",
  },
  *check(context) {
    const { stack } = context.target;
    const { headDimMultiple: multiple } = stack.attention;
    for (const product of context.products) {
      const work = product.sizes;
      if (work.kind !== "attention") continue;
      const aligned = alignedHeads(work, stack);
      if (aligned === undefined) continue;
      const { headDim, valueHeadDim } = work;
      const decided = context.decision?.paddedOf<AttentionWork<number>>(product, "attention");
      const { headDim: padded, valueHeadDim: paddedValue } = decided?.work ?? aligned;
      const saves = decided?.saves ?? context.saving(product, aligned);
      if (!(saves.microseconds > 0)) continue;
      yield {
        at: product,
        message: "misaligned",
        data: { headDim, valueHeadDim, padded, paddedValue, multiple, heads: work.heads },
        saves,
      };
    }
    for (const { at, covers, saves, ...data } of headsOffMultiple(context))
      if (saves.microseconds > 0) yield { at, covers, message: "written", data, saves };
  },
});
