import { addSavings, type LintContext, type Saving, type Step } from "../src/lint/context.ts";
import { dtypeOf } from "../src/lint/graph.ts";
import { findIslands, type Island } from "../src/lint/islands.ts";
import { stepSavingAt, stepTimeAt } from "../src/lint/precision.ts";
import { defineRule } from "../src/lint/rule.ts";

/**
 * ## What it does
 * Finds a few FP32 nodes between half-precision neighbours: a Cast up, at most 32 nodes, a Cast back down. Also a Cast
 * up that is cast straight back.
 *
 * ## Why is this bad?
 * Each Cast is a pass over the activations unless the stack fuses it, and the nodes between move twice the bytes of
 * their half-precision neighbours. A product among them leaves the fast Tensor Core rate.
 *
 * Some islands are there for range or for accuracy. Kernels for LayerNormalization and Softmax accumulate in FP32 inside
 * whatever type they read and write, so an island around these alone protects nothing on a GPU; one around Pow, Exp or
 * a sum may (see TC203).
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
      const saves = savingOf(island, context);
      const [first] = island.casts;
      if (first === undefined || !(saves.microseconds > 0)) continue;
      const at = { node: first, scope: island.scope };
      const casts = island.casts.length;
      const ops = [...new Set(island.nodes.map(({ opType }) => opType))];
      if (island.nodes.length === 0) yield { at, message: "pair", data: { casts }, saves };
      else yield { at, message: "island", data: { count: island.nodes.length, ops, casts }, saves };
    }
  },
});

/** As the types stand, less the same kernels in half without those that only convert. */
function savingOf({ scope, casts, nodes }: Island, context: LintContext): Saving {
  const steps = new Set([...casts, ...nodes].flatMap((node) => context.timeline.stepOf(node, scope) ?? []));
  const half = casts.some((cast) => [...cast.inputs, ...cast.outputs].some((value) => isBfloat(value, scope)))
    ? "bf16"
    : "fp16";
  const converts = new Set(casts);
  const onlyConverts = (step: Step) => step.nodes.every((node) => converts.has(node));
  return addSavings(
    [...steps].map((step) =>
      onlyConverts(step) ? stepTimeAt(step, "as-is", context) : stepSavingAt(step, "as-is", half, context),
    ),
  );
}

function isBfloat(value: Parameters<typeof dtypeOf>[0], scope: Island["scope"]): boolean {
  return dtypeOf(value, scope) === "bfloat16";
}
