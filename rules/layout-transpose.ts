import type { CostedProduct } from "../src/lint/context.ts";
import { intsAttributeIn, isOp, ProductIndex } from "../src/lint/graph.ts";
import { Neighbours } from "../src/lint/neighbours.ts";
import { movesToLast, movesToSecond } from "../src/lint/permutations.ts";
import { stepTimeAt } from "../src/lint/precision.ts";
import { defineRule, type Site } from "../src/lint/rule.ts";

/**
 * ## What it does
 * Finds Transposes that only move the channel axis, from second to last or back, between a convolution and another
 * product.
 *
 * ## Why is this bad?
 * Such a Transpose is a pass over the whole activation that computes nothing. It is there because ONNX convolutions are
 * NCHW while matrix products and normalizations over channels want them last. A stack that keeps activations in NHWC
 * needs none of them: the convolution before already writes the layout that the product behind reads.
 *
 * ## Example
 * ```onnx
 * a = Conv(x, w)                        # [8, 96, 56, 56]
 * b = Transpose<perm = [0, 2, 3, 1]>(a)
 * y = MatMul(LayerNormalization(b), v)
 * ```
 *
 * ## Use instead
 * ```onnx
 * a = NhwcConv(x, w)                    # [8, 56, 56, 96]
 * y = MatMul(LayerNormalization(a), v)
 * ```
 *
 * ## Fix safety
 * Unsafe, so it has to be asked for (`--layout nhwc`): the convolutions around become calls of functions that take NHWC,
 * and the Transposes cancel.
 *
 * ## References
 * - [Tensor layouts, convolution guide, NVIDIA](https://docs.nvidia.com/deeplearning/performance/dl-performance-convolutional/index.html)
 */
export default defineRule({
  code: "TC302",
  name: "layout-transpose",
  severity: "warn",
  fix: "unsafe",
  messages: {
    converts: "Transpose {perm} only moves channels {direction}, between {before} and {behind}",
  },
  *check(context) {
    const index = ProductIndex.of(context.products);
    for (const scope of context.facts.scopes()) {
      const neighbours = new Neighbours(scope, index);
      for (const node of scope.graph.nodes) {
        const perm = isOp(node, "Transpose") ? intsAttributeIn(node, "perm", scope) : undefined;
        if (perm === undefined) continue;
        const between = productsAround(perm, node, neighbours);
        const step = context.timeline.stepOf(node, scope);
        if (between === undefined || step === undefined) continue;
        const data = { perm: `[${perm.join(", ")}]`, ...between };
        // With convolutions in NHWC it is gone, or only its author can spare it.
        const decided = context.layoutStep()?.partOf([step]);
        const saves = decided ?? stepTimeAt(step, context.target.precision, context);
        const fix = context.knowsLayout && decided === undefined ? "none" : "unsafe";
        yield { at: { node, scope }, message: "converts", data, saves, fix };
      }
    }
  },
});

/** The convolution whose layout it is, and the product on the other side. */
function productsAround(perm: readonly number[], node: Site["node"], neighbours: Neighbours) {
  const toLast = movesToLast(perm);
  const toSecond = movesToSecond(perm);
  if (!toLast && !toSecond) return undefined;
  const before = neighbours.before(node);
  const [nearBefore] = before;
  if (nearBefore === undefined) return undefined;
  const behind = neighbours.behind(node);
  const [nearBehind] = behind;
  if (nearBehind === undefined) return undefined;
  const leaves = toLast ? before.find(isChannelsSecond) : undefined;
  if (leaves !== undefined) {
    return { direction: "last", before: leaves.node.opType, behind: nearBehind.node.opType };
  }
  const enters = toSecond ? behind.find(isChannelsSecond) : undefined;
  if (enters === undefined) return undefined;
  return { direction: "second", before: nearBefore.node.opType, behind: enters.node.opType };
}

function isChannelsSecond({ sizes }: CostedProduct): boolean {
  return sizes.kind === "conv" && sizes.layout === "nchw";
}
