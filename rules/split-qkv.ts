import { scale } from "../src/lint/context.ts";
import { labelOf } from "../src/lint/graph.ts";
import { merged, outputsOf, parallelProducts } from "../src/lint/parallel.ts";
import { defineRule } from "../src/lint/rule.ts";

/** Names in a message; all of them are in the data. */
const shown = 3;

/**
 * ## What it does
 * Finds products with different weights that read the same input: queries, keys and values, the gate and up projections
 * of a gated MLP, parallel 1×1 convolutions. One product with the weights side by side does the same (horizontal
 * fusion).
 *
 * ## Why is this bad?
 * Each product reads the input again and is a launch of its own, and a narrow product has fewer tiles, so that it keeps
 * fewer of the GPU's SMs busy than a wide one.
 *
 * ## Example
 * ```onnx
 * q = MatMul(x, wq)
 * k = MatMul(x, wk)
 * v = MatMul(x, wv)
 * ```
 *
 * ## Use instead
 * ```onnx
 * q, k, v = Split<axis = -1>(MatMul(x, wqkv))    # wqkv: the three weights side by side
 * ```
 * The Split is free where the reader takes strides, as fused attention does.
 *
 * ## Fix safety
 * No fix: a stack may already merge them (TensorRT does for products of the same input), and sharding schemes want them
 * apart.
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
    split: "{count} products read the same input ({named}): one of {total} outputs does the same",
  },
  *check(context) {
    for (const group of parallelProducts(context.products)) {
      const [at] = group;
      const together = merged(group);
      if (at === undefined || together === undefined) continue;
      const before = group.map(({ sizes }) => sizes);
      const saves = scale(context.savingOf(before, [together]), at.runs);
      if (!(saves.microseconds > 0)) continue;
      const outputs = before.map(outputsOf);
      const nodes = group.map(({ node }) => labelOf(node));
      const named = nodes.length > shown ? `${nodes.slice(0, shown).join(", ")}, …` : nodes.join(", ");
      const data = { count: group.length, nodes, named, outputs, total: outputsOf(together) };
      const cause = `${group.length} of ${outputs.join(",")}`;
      yield { at, message: "split", data, cause, saves, covers: group };
    }
  },
});
