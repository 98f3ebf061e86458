import { scale } from "../src/lint/context.ts";
import { fusedSaving, writtenNorms } from "../src/lint/fused-saving.ts";
import { defineRule } from "../src/lint/rule.ts";

/** As in TC409: of what the cost model says of elementwise passes, these take 0.66 to 0.96 on an H200. */
const plainPass = 0.75;

/**
 * ## What it does
 * Finds LayerNorm and RMSNorm that are written as means, squares, a root and a quotient, on a target that runs a kernel a node. Stacks
 * that recognise the pattern (ONNX Runtime's LayerNormFusion, TensorRT, the bundled runtime) are left alone.
 *
 * ## Why is this bad?
 * Each of up to nine nodes reads and writes the whole activation, or at least launches a kernel for one number a row. One kernel
 * reads a row, normalizes it on the chip and writes it.
 *
 * Measured on an H200 (PyTorch 2.11, FP16): LayerNorm of 512×768 19.9 µs as nine kernels and 3.5 as one, of 4096×4096 217 and 31 µs;
 * RMSNorm of 512×768 13.7 µs as seven and 2.6 as one, of 4096×4096 119 and 24 µs.
 *
 * The saving is what its kernels take, less one normalizing pass.
 *
 * ## Example
 * ```onnx
 * v = ReduceMean(Pow(x, 2), [-1])
 * y = Mul(Div(x, Sqrt(Add(v, 1e-6))), scale)
 * ```
 *
 * ## Use instead
 * ```onnx
 * y = RMSNormalization(x, scale)          # opset 23; LayerNormalization: opset 17
 * ```
 * In PyTorch: `nn.RMSNorm` and `nn.LayerNorm` instead of arithmetic of one's own, exported with
 * `torch.onnx.export(model, args, dynamo=True, opset_version=23)`.
 *
 * ## Fix safety
 * No fix: a file of a lower opset has no such operator.
 *
 * ## References
 * - [RMSNormalization, ONNX operators](https://onnx.ai/onnx/operators/onnx__RMSNormalization.html)
 */
export default defineRule({
  code: "TC408",
  name: "decomposed-norm",
  severity: "info",
  fix: "none",
  messages: {
    written:
      "{kind} is written as {nodes} nodes: {kernels} kernels, not one; use {module} and export with opset {opset} or later",
  },
  *check(context) {
    // Whoever joins chains of elementwise nodes knows these norms, too.
    if (context.target.stack.fuses.elementwise !== "none") return;
    for (const scope of context.facts.scopes()) {
      for (const norm of writtenNorms(scope, context)) {
        const fused = fusedSaving(norm, context);
        if (fused === undefined || !(fused.saves.microseconds > 0)) continue;
        const { kind, nodes } = norm;
        const opset = kind === "RMSNorm" ? 23 : 17;
        const data = { kind, nodes: nodes.length, kernels: fused.kernels, module: `nn.${kind}`, opset };
        yield {
          at: norm,
          message: "written",
          data,
          saves: scale(fused.saves, plainPass),
          covers: norm.nodes.map((node) => ({ node, scope })),
        };
      }
    }
  },
});
