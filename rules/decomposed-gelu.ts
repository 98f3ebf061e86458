import type { Detailed, Step } from "../src/lint/context.ts";
import { fusedSaving, writtenGelus } from "../src/lint/fused-saving.ts";
import { defineRule } from "../src/lint/rule.ts";

/**
 * Where code says a number, an operator has one operand; a file's constant is a tensor of one element, whose addresses are worked out.
 * What is saved is told of the former, as it was measured: 4.7 µs for 64×768, 282 for 4096×16384 on an H200.
 */
const numbersInCode = ({ work, detail }: Step): Detailed =>
  detail.variant === "bias" ? { work, detail: { variant: "relu" } } : { work, detail };

/** Of what small passes take one by one, each again and again, what they take at the least behind one another. */
const leastInTurns = 0.9;

/**
 * ## What it does
 * Finds GELU that is written as Erf or Tanh with the arithmetic around it, on a target that runs a kernel a node. Stacks that join
 * chains of elementwise nodes (ONNX Runtime, TensorRT, the bundled runtime) are left alone.
 *
 * ## Why is this bad?
 * ONNX has had Gelu since opset 20. Below that exporters write it as five nodes, the tanh form as eight, each of which reads and
 * writes the widest activation of a transformer: that of its MLP.
 *
 * Measured on an H200 (PyTorch 2.11, FP16): 512×3072 10.7 µs as five kernels, 16.2 as eight, 3.0 as one; 65536×3072 1076, 1688 and
 * 245 µs.
 *
 * The saving is what its kernels take, less one pass.
 *
 * ## Example
 * ```onnx
 * y = Mul(Mul(x, Add(Erf(Div(x, 1.4142)), 1)), 0.5)
 * ```
 *
 * ## Use instead
 * ```onnx
 * y = Gelu(x)                             # opset 20
 * ```
 * In PyTorch: `nn.GELU` instead of arithmetic of one's own, exported with `torch.onnx.export(model, args, dynamo=True,
 * opset_version=20)` or later.
 *
 * ## Fix safety
 * No fix: a file of a lower opset has no such operator.
 *
 * ## References
 * - [Gelu, ONNX operators](https://onnx.ai/onnx/operators/onnx__Gelu.html)
 */
export default defineRule({
  code: "TC409",
  name: "decomposed-gelu",
  severity: "info",
  fix: "none",
  messages: {
    written:
      "GELU ({form}) is written as {nodes} nodes: {kernels} kernels, not one; export with opset 20 or later, which has Gelu",
  },
  *check(context) {
    if (context.target.stack.fuses.elementwise !== "none") return;
    for (const scope of context.facts.scopes()) {
      for (const gelu of writtenGelus(scope, context)) {
        const fused = fusedSaving(gelu, context, { priced: numbersInCode, pass: "gelu" });
        if (fused === undefined || !(fused.saves.microseconds > 0)) continue;
        const data = { form: gelu.form, nodes: gelu.nodes.length, kernels: fused.kernels };
        yield {
          at: gelu,
          message: "written",
          data,
          saves: { ...fused.saves, low: fused.saves.low * leastInTurns },
          covers: gelu.nodes.map((node) => ({ node, scope })),
        };
      }
    }
  },
});
