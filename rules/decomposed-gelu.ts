import { asMeasuredJoined, fusedSaving, writtenGelus } from "../src/lint/fused-saving.ts";
import { defineRule } from "../src/lint/rule.ts";

/**
 * ## What it does
 * Finds GELU that is written as Erf or Tanh with the arithmetic around it, on a target that runs a kernel a node. Stacks that join
 * chains of elementwise nodes (ONNX Runtime, TensorRT, the bundled runtime) are left alone.
 *
 * ## Why is this bad?
 * ONNX has had Gelu since opset 20. Below that exporters write it as five nodes, the tanh form as eight, each of which reads and
 * writes the widest activation of a transformer: that of its MLP.
 *
 * Measured on an H200 (FP16, a kernel a node) on whole networks exported below opset 20 and at it: `swin_tiny` 1,030 and 909 µs,
 * `vit_tiny` 774 and 658, `convnext_tiny` 1,037 and 712. In code of one's own a number is no tensor, and less is lost (PyTorch 2.11):
 * 512×3072 takes 10.7 µs as five kernels, 16.2 as eight, 3.0 as one.
 *
 * The saving is what its kernels take in the file, less what the operator would.
 *
 * ## Example
 * ```onnx
 * y = Mul(Mul(x, Add(Erf(Div(x, 1.41421356)), 1)), 0.5)
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
 * Safe: one operator computes the same in FP32, rounding once instead of five or eight times. The constants must be GELU's to the rounding of the
 * type that they are stored in (1.4142 is not √2), and nothing outside may read what is between; else it is left as it is.
 *
 * Gelu needs opset 20. `--fix` raises the opset of the file for it, from 13 on, where every node in it means the same in 20 or has a form there
 * that does (the axes of ReduceMean, the parts of Split); where one has none, or is not known to, the file stays as it is and a note names it.
 * Runtimes have opset 20 since ONNX Runtime 1.17.
 *
 * Only where the stack runs a kernel a node: others join these nodes themselves.
 *
 * ## References
 * - [Gelu, ONNX operators](https://onnx.ai/onnx/operators/onnx__Gelu.html)
 */
export default defineRule({
  code: "TC409",
  name: "decomposed-gelu",
  severity: "info",
  fix: "safe",
  messages: {
    joined: "GELU ({form}) is written as {nodes} nodes: {kernels} kernels, not one, as Gelu of opset 20 is",
    written:
      "GELU ({form}) is written as {nodes} nodes: {kernels} kernels, not one; export with opset 20 or later, which has Gelu",
  },
  *check(context) {
    if (context.target.stack.fuses.elementwise !== "none") return;
    for (const scope of context.facts.scopes()) {
      for (const gelu of writtenGelus(scope, context)) {
        const fused = fusedSaving(gelu, context, "gelu");
        if (fused === undefined || !(fused.saves.microseconds > 0)) continue;
        const data = { form: gelu.form, nodes: gelu.nodes.length, kernels: fused.kernels };
        const covers = gelu.nodes.map((node) => ({ node, scope }));
        const { decision } = context;
        const isJoined = gelu.isExact && decision?.isRewritten(gelu.node) !== false;
        const saves = (isJoined ? decision?.savingOver(covers) : undefined) ?? fused.saves;
        yield {
          at: gelu,
          message: isJoined ? "joined" : "written",
          data,
          saves: asMeasuredJoined(saves),
          covers,
          ...(isJoined ? {} : { fix: "none", left: decision?.whyWritten }),
        };
      }
    }
  },
});
