import { defineRule } from "../src/lint/rule.ts";

/**
 * ## What it does
 * Finds products whose sizes cannot be told without running the model. They are counted as skipped, and no other rule
 * says anything about them.
 *
 * ## Why is this bad?
 * A layer without sizes has no predicted time and no alignment: the rest of the report is about a smaller model than
 * this one. The usual causes are an operator unknown to tc-lint, a shape that depends on the data (NonZero, TopK with a
 * computed k), and inputs without declared shapes.
 *
 * ## Example
 * ```onnx
 * y = MatMul(x, w)    # x: float32 without a shape
 * ```
 *
 * ## Use instead
 * Give the sizes: `--shape x=1,128,768` or `--dim batch=1`; or export with declared shapes and value infos.
 *
 * ## Fix safety
 * No fix: the sizes are not in the file.
 *
 * ## Options
 * `--shape` and `--dim` bind inputs and symbols.
 *
 * ## References
 * - [Shape inference, ONNX](https://onnx.ai/onnx/api/shape_inference.html)
 */
export default defineRule({
  code: "TC901",
  name: "unresolved-shape",
  severity: "warn",
  fix: "none",
  saves: "nothing",
  messages: {
    unresolved: "skipped, not clean: {reason}",
  },
  *check(context) {
    for (const { node, scope, reason } of context.unresolved) {
      yield { at: { node, scope }, message: "unresolved", data: { reason } };
    }
  },
});
