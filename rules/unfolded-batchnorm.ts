import { type CostedProduct, type LintContext, type Saving, scale } from "../src/lint/context.ts";
import { foldableNormalization } from "../src/lint/foldable-normalization.ts";
import { labelOf, type Node } from "../src/lint/graph.ts";
import { passOver } from "../src/lint/memory-passes.ts";
import { defineRule } from "../src/lint/rule.ts";

/**
 * ## What it does
 * Finds BatchNormalization behind a Conv, ConvTranspose or Gemm that nothing else reads, where all parameters are stored
 * in the model: it can be folded into the weights and bias.
 *
 * ## Why is this bad?
 * In inference BatchNormalization is one multiplication and one addition per channel. As an operator of its own it is a
 * pass over the whole activation; folded it costs nothing (a bias at most, which the saving counts).
 *
 * Stacks that optimize the graph when they load it (TensorRT, ONNX Runtime, the bundled runtime) fold it themselves, so
 * nothing is reported there.
 *
 * ## Example
 * ```onnx
 * a = Conv(x, w)
 * y = BatchNormalization(a, scale, bias, mean, variance)
 * ```
 *
 * ## Use instead
 * ```onnx
 * y = Conv(x, w2, b2)    # w2 = w · scale/√(variance + ε), b2 = bias − mean · scale/√(variance + ε)
 * ```
 * In PyTorch: `model.eval()` before export.
 *
 * ## Fix safety
 * Safe: exact in real arithmetic, and within rounding in FP32, in which the weights are folded.
 *
 * ## References
 * - [BatchNormalization, ONNX operators](https://onnx.ai/onnx/operators/onnx__BatchNormalization.html)
 */
export default defineRule({
  code: "TC403",
  name: "unfolded-batchnorm",
  severity: "warn",
  fix: "safe",
  messages: {
    unfolded: "BatchNormalization behind {product} {name} can be folded into its weights",
  },
  *check(context) {
    if (context.target.stack.fuses.bias) return;
    for (const product of context.products) {
      const normalization = foldableNormalization(product);
      if (normalization === undefined) continue;
      const decided = context.decision?.changeAt(normalization, product.scope);
      const saves = decided?.saves ?? savingOf(product, normalization, context);
      if (saves === undefined || !(saves.microseconds > 0)) continue;
      yield {
        at: { node: normalization, scope: product.scope },
        message: "unfolded",
        data: { product: product.node.opType, name: labelOf(product.node) },
        saves,
      };
    }
  },
});

/** The pass over the activation, less the one that adds the bias which folding brings. */
function savingOf(product: CostedProduct, node: Node, context: LintContext): Saving | undefined {
  const pass = passOver(node.outputs[0], product.scope, "elementwise", context);
  if (pass === undefined) return undefined;
  const { microseconds, low, high } = context.savingOf([pass], []);
  const bias = product.node.inputs[2] === undefined ? product.estimate.biasMicroseconds : 0;
  const once = { microseconds: microseconds - bias, low: low - bias, high: high - bias };
  return scale(once, product.runs * context.measure([{ node, scope: product.scope }]));
}
