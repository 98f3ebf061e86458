import { scale } from "../src/lint/context.ts";
import { recognisesPatterns } from "../src/lint/fused-saving.ts";
import { labelOf } from "../src/lint/graph.ts";
import { merged, outputsOf, splitBehind } from "../src/lint/parallel.ts";
import { joinedProjections } from "../src/lint/projections.ts";
import { defineRule } from "../src/lint/rule.ts";

/** Names in a message; all of them are in the data. */
const shown = 3;

/**
 * ## What it does
 * Finds products with different weights that read the same input and meet again: queries, keys and values of one attention, or the
 * gate and up projections of a gated MLP, whose results are multiplied. One product with the weights side by side does the same
 * (horizontal fusion). Stacks that merge such products themselves (TensorRT, the bundled runtime) are left alone.
 *
 * Other products of one input are not reported: branches of a residual or an inception block, and projections of a time embedding,
 * are layers of their own, and what reads their results wants them apart.
 *
 * ## Why is this bad?
 * Each product reads the input again and is a launch of its own, and a narrow product has fewer tiles, so that it keeps
 * fewer of the GPU's SMs busy than a wide one.
 *
 * Measured on an H200 (cuBLAS 13, FP16): 768 inputs to 3 × 768 outputs, 64 rows 9.9 to 3.5 µs, 1024 rows 14.4 to 8.0 µs, 4096 rows
 * 30.7 to 23.7 µs. Large products gain nothing: 4096 inputs to 2 × 11008 outputs, 1024 rows 251 to 272 µs; they are left alone.
 *
 * ## Example
 * ```onnx
 * q = MatMul(x, wq)
 * k = MatMul(x, wk)
 * v = MatMul(x, wv)
 * y = Attention(q, k, v)
 * ```
 *
 * ## Use instead
 * ```onnx
 * q, k, v = Split<axis = -1>(MatMul(x, wqkv))    # wqkv: the three weights side by side
 * ```
 * The Split is free where slices are views that the reader takes by their strides (`cudnn`). ONNX Runtime makes it a kernel, which
 * the saving on `ort-cuda` is less of; nothing is told where it takes as long as the products save. com.microsoft's MultiHeadAttention
 * takes the three packed, without a Split, and spares nothing by it: before its flash, memory-efficient and cuDNN kernels one of its own
 * unpacks them (ONNX Runtime's attention_prepare_qkv.cu).
 *
 * ## Fix safety
 * No fix: sharding schemes want them apart.
 *
 * ## References
 * - [ONNX Runtime, transformers optimization (attention fusion)](https://onnxruntime.ai/docs/performance/transformers-optimization.html)
 */
export default defineRule({
  code: "TC402",
  name: "split-qkv",
  severity: "info",
  fix: "none",
  messages: {
    split:
      "{count} products of one {role} read the same input ({named}): one nn.Linear of {total} outputs, split behind, does the same",
  },
  *check(context) {
    const { stack } = context.target;
    if (recognisesPatterns(stack)) return;
    for (const { role, products } of joinedProjections(context)) {
      const [at] = products;
      const together = merged(products);
      if (at === undefined || together === undefined) continue;
      const before = products.map(({ sizes }) => sizes);
      const split = stack.fuses.views ? undefined : splitBehind(products, context.bindings);
      const after = split === undefined ? [together] : [together, split];
      const saves = scale(context.savingOf(before, after), at.runs * context.measure(products));
      if (!(saves.microseconds > 0)) continue;
      const outputs = before.map(outputsOf);
      const nodes = products.map(({ node }) => labelOf(node));
      const named = nodes.length > shown ? `${nodes.slice(0, shown).join(", ")}, …` : nodes.join(", ");
      const data = { count: products.length, role, nodes, named, outputs, total: outputsOf(together) };
      const cause = `${role}: ${products.length} of ${outputs.join(",")}`;
      yield { at, message: "split", data, cause, saves, covers: products };
    }
  },
});
