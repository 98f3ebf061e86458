import { isForRange } from "../src/lint/half-risk.ts";
import { islandSaving } from "../src/lint/island-saving.ts";
import { findIslands, runsInHalf } from "../src/lint/islands.ts";
import { defineRule } from "../src/lint/rule.ts";

/**
 * ## What it does
 * Finds a few FP32 nodes between half-precision neighbours: a Cast up, at most 32 nodes, a Cast back down. Also a Cast
 * up that is cast straight back. Islands that hold what half cannot (TC203) are left alone, as are operators that the stack has no kernel
 * of in that half (MaxPool in BF16 on `ort-cuda`); LayerNorm and RMSNorm that are written out in one are TC408's.
 *
 * ## Why is this bad?
 * Each Cast is a pass over the activations unless the stack fuses it, and the nodes between move twice the bytes of
 * their half-precision neighbours. A product among them leaves the fast Tensor Core rate.
 *
 * Some islands are there for range or for accuracy. Kernels for LayerNormalization, RMSNormalization and Softmax accumulate in FP32
 * inside whatever type they read and write, so an island around these alone protects nothing on a GPU; one around Pow, Exp or
 * a sum of many terms does.
 *
 * ## Example
 * ```onnx
 * a = Cast<to = float>(x)            # x: float16
 * b = LayerNormalization(a, s, t)
 * y = Cast<to = float16>(b)
 * ```
 *
 * ## Use instead
 * ```onnx
 * y = LayerNormalization(x, s, t)    # all float16; stash_type keeps the statistics in FP32
 * ```
 *
 * ## Fix safety
 * No fix: whether the range needs the island is for the values to say.
 *
 * ## References
 * - [LayerNormalization, ONNX operators](https://onnx.ai/onnx/operators/onnx__LayerNormalization.html)
 */
export default defineRule({
  code: "TC202",
  name: "mixed-precision-island",
  severity: "warn",
  fix: "none",
  messages: {
    island: "FP32 between half-precision neighbours: {ops} ({count} in all), with Casts: {casts}",
    pair: "Cast to FP32 and straight back to half",
  },
  *check(context) {
    for (const island of findIslands(context.facts)) {
      const saves = islandSaving(island, context);
      const [first] = island.casts;
      if (first === undefined || !(saves.microseconds > 0)) continue;
      const at = { node: first, scope: island.scope };
      const casts = island.casts.length;
      if (isForRange(island, context) || !runsInHalf(island, context.target)) continue;
      const ops = [...new Set(island.nodes.map(({ opType }) => opType))];
      if (island.nodes.length === 0) yield { at, message: "pair", data: { casts }, saves };
      else yield { at, message: "island", data: { count: island.nodes.length, ops, casts }, saves };
    }
  },
});
