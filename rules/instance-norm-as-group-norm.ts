import { type LintContext, scale } from "../src/lint/context.ts";
import { type FusedSaving, fusedSaving, recognisesPatterns } from "../src/lint/fused-saving.ts";
import { defineRule } from "../src/lint/rule.ts";
import {
  hasGroupNorm,
  type InlinedGroupNorm,
  inlinedGroupNorms,
  writtenGroupNorms,
} from "../src/lint/written-group-norm.ts";

/**
 * ## What it does
 * Finds GroupNorm that an exporter wrote as Reshape, InstanceNormalization, Reshape, Mul and Add, on a target that runs these
 * as several kernels. Stacks that recognise the pattern themselves (TensorRT, the bundled runtime) are left alone.
 *
 * On ONNX Runtime's CUDA provider (`ort-cuda`, `ort-cuda-nhwc`) it is the other way round. That has no kernel for GroupNormalization, and
 * inlines the operator's function: eleven kernels, where InstanceNormalization, Mul and Add are three. There the operator is found, and
 * the form that is written out is left alone.
 *
 * ## Why is this bad?
 * ONNX had no GroupNormalization before opset 18, and one with a scale for each channel only since opset 21. Written out,
 * groups are the channels of an InstanceNormalization without scale or shift, and both follow as nodes of their own: two
 * more passes that read and write the whole activation, in front of every convolution of a diffusion model.
 *
 * Measured on an H200 (PyTorch 2.11, FP16, 32 groups): 1×320×64² 48 µs written out, 25 as one operator; 8×320×64² 124 and 62 µs;
 * 1×1280×8² 13.8 and 7.6 µs.
 *
 * The saving is what these passes take: the normalization walks the same rows either way. Where the stack joins chains of
 * elementwise nodes, an activation behind them would need the pass anyway, and there is nothing to save. Of the operator on ONNX
 * Runtime it is the kernels of its function less those three, both as the account has them; no GPU was asked.
 *
 * ## Example
 * ```onnx
 * a = InstanceNormalization(Reshape(x, [0, 32, -1]), ones, zeros)    # x: [1, 320, 64, 64]
 * y = Add(Mul(Reshape(a, [1, 320, 64, 64]), scale), bias)
 * ```
 *
 * ## Use instead
 * ```onnx
 * y = GroupNormalization<num_groups = 32>(x, scale, bias)            # opset 21
 * ```
 * In PyTorch: `torch.onnx.export(model, args, dynamo=True, opset_version=21)` or later, which keeps `nn.GroupNorm` whole; for ONNX
 * Runtime's CUDA provider `opset_version=20` or earlier, which writes it out.
 *
 * ## Fix safety
 * No fix: below opset 18 there is no such operator, and which stack a file runs on is not written in it.
 *
 * ## References
 * - [GroupNormalization, ONNX operators](https://onnx.ai/onnx/operators/onnx__GroupNormalization.html)
 */
export default defineRule({
  code: "TC407",
  name: "instance-norm-as-group-norm",
  severity: "info",
  fix: "none",
  messages: {
    written:
      "GroupNorm is written as InstanceNormalization and {nodes} nodes in all: {kernels} kernels, not one; export with opset 21 or later, which has GroupNormalization",
    inlined:
      "{stack} has no kernel of GroupNormalization and runs its function: {kernels} kernels; written as InstanceNormalization, Mul and Add, as exporters do up to opset 20, it is {written}",
  },
  *check(context) {
    const { stack } = context.target;
    for (const scope of context.facts.scopes()) {
      for (const norm of inlinedGroupNorms(scope, context)) {
        const saved = savedBy(norm, context);
        if (saved === undefined || !(saved.saves.microseconds > 0)) continue;
        const data = { stack: stack.id, kernels: saved.kernels, written: norm.written.length };
        yield { at: norm, message: "inlined", data, saves: saved.saves };
      }
      if (recognisesPatterns(stack) || !hasGroupNorm(stack)) continue;
      for (const norm of writtenGroupNorms(scope, context)) {
        const fused = fusedSaving(norm, context);
        if (fused === undefined || !(fused.saves.microseconds > 0)) continue;
        const data = { groups: norm.groups, nodes: norm.nodes.length, kernels: fused.kernels };
        yield {
          at: norm,
          message: "written",
          data,
          saves: fused.saves,
          covers: norm.nodes.map((node) => ({ node, scope })),
        };
      }
    }
  },
});

/** The kernels of the operator's function, less those of the same as exporters write it; undefined where it has none. */
function savedBy({ node, scope, written }: InlinedGroupNorm, context: LintContext): FusedSaving | undefined {
  const steps = context.timeline.stepsOf(node, scope).filter(({ part }) => part !== "conversion");
  const [first] = steps;
  if (first === undefined) return undefined;
  const times = first.runs * context.measure([{ node, scope }]);
  return { kernels: steps.length, saves: scale(context.savingOf(steps, written), times) };
}
