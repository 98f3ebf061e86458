import { addSavings, type LintContext, type Saving, type Step } from "../src/lint/context.ts";
import { type WrittenNorm, writtenNorms } from "../src/lint/fused-saving.ts";
import { dtypeOf } from "../src/lint/graph.ts";
import { halfRisks } from "../src/lint/half-risk.ts";
import { findIslands, type Island } from "../src/lint/islands.ts";
import { stepSavingAt, stepTimeAt } from "../src/lint/precision.ts";
import { defineRule } from "../src/lint/rule.ts";

/**
 * ## What it does
 * Finds a few FP32 nodes between half-precision neighbours: a Cast up, at most 32 nodes, a Cast back down. Also a Cast
 * up that is cast straight back. Islands that hold what half cannot (TC203) are left alone, but for LayerNorm and RMSNorm written out,
 * whose operators read half and sum in FP32.
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
    norm: "{kind} in FP32 between half-precision neighbours, as {count} nodes, with Casts: {casts}; {module} exported with opset {opset} or later is one operator that reads half and sums in FP32",
    pair: "Cast to FP32 and straight back to half",
  },
  *check(context) {
    const norms = normsIn(context);
    for (const island of findIslands(context.facts)) {
      const saves = savingOf(island, context);
      const [first] = island.casts;
      if (first === undefined || !(saves.microseconds > 0)) continue;
      const at = { node: first, scope: island.scope };
      const casts = island.casts.length;
      const norm = normOf(island, norms);
      if (norm !== undefined) {
        yield { at, message: "norm", data: { ...norm, casts }, saves };
        continue;
      }
      if (island.nodes.some((node) => halfRisks(node, island.scope, context).length > 0)) continue;
      const ops = [...new Set(island.nodes.map(({ opType }) => opType))];
      if (island.nodes.length === 0) yield { at, message: "pair", data: { casts }, saves };
      else yield { at, message: "island", data: { count: island.nodes.length, ops, casts }, saves };
    }
  },
});

type Norms = ReadonlyMap<Island["nodes"][number], WrittenNorm>;

function normsIn(context: LintContext): Norms {
  const norms = [...context.facts.scopes()].flatMap((scope) => writtenNorms(scope, context));
  return new Map(norms.flatMap((norm) => norm.nodes.map((node) => [node, norm] as const)));
}

/** A norm written out that is all there is between the Casts. */
function normOf({ nodes }: Island, norms: Norms) {
  const [norm, ...others] = new Set(nodes.map((node) => norms.get(node)));
  if (norm === undefined || others.length > 0) return undefined;
  const { kind } = norm;
  return { kind, module: `nn.${kind}`, opset: kind === "RMSNorm" ? 23 : 17, count: nodes.length };
}

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
