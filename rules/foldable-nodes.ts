import { addSavings } from "../src/lint/context.ts";
import { foldableNormalization } from "../src/lint/foldable-normalization.ts";
import { labelOf } from "../src/lint/graph.ts";
import { defineRule } from "../src/lint/rule.ts";

/**
 * ## What it does
 * Finds kernels that `--fix` removes without padding anything: what is known before the model runs, pairs of nodes that undo
 * each other, and nodes that change nothing (a Pad by zeros, a Cast to the same type). A fused kernel of which some nodes stay is
 * none. Once per model, with what they take together.
 *
 * ## Why is this bad?
 * Exporters trace what a network's Python does, including what does nothing at these sizes. Some stacks remove it when they load
 * the model; one that runs a kernel a node does not, and each is a launch and a pass over memory. What a stack drops itself is not
 * counted: ONNX Runtime drops a Cast to the same type and an Expand to the same shape, and runs a Pad by zeros.
 *
 * ## Example
 * ```onnx
 * a = Pad(x, [0, 0, 0, 0, 0, 0, 0, 0])
 * y = Transpose<perm = [0, 2, 1]>(Transpose<perm = [0, 2, 1]>(a))
 * ```
 *
 * ## Use instead
 * ```onnx
 * y = Identity(x)
 * ```
 *
 * ## Fix safety
 * Safe: values stay what they are, to the bit.
 *
 * ## References
 * - [Graph optimizations, ONNX Runtime](https://onnxruntime.ai/docs/performance/model-optimizations/graph-optimizations.html)
 */
export default defineRule({
  code: "TC410",
  name: "foldable-nodes",
  severity: "warn",
  fix: "safe",
  about: "model",
  messages: {
    foldable: "kernels that change nothing, or are known before the model runs: {count} ({named})",
  },
  *check(context) {
    const folded = new Set(context.products.flatMap((product) => foldableNormalization(product) ?? []));
    const removed = (context.decision?.change.steps ?? []).filter(({ before, isRemoved, saves }) => {
      const [node] = before?.nodes ?? [];
      return (
        before?.family === "memory" &&
        isRemoved &&
        saves.microseconds > 0 &&
        node !== undefined &&
        // The plugin whose fix takes them has these.
        !context.decision?.isRewritten(node) &&
        // TC403 has these.
        !folded.has(node)
      );
    });
    const sites = removed.flatMap(({ before }) =>
      before === undefined ? [] : before.nodes.slice(0, 1).map((node) => ({ node, scope: before.scope })),
    );
    const [at] = sites;
    if (at === undefined) return;
    const counts = new Map<string, number>();
    for (const { node } of sites) counts.set(node.opType, (counts.get(node.opType) ?? 0) + 1);
    const named = [...counts].map(([type, count]) => `${type} ${count}`).join(", ");
    const data = { count: sites.length, named, first: labelOf(at.node) };
    yield {
      at,
      message: "foldable",
      data,
      saves: addSavings(removed.map(({ saves }) => saves)),
      covers: sites,
    };
  },
});
