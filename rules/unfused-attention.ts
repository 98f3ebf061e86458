import { alignedHeads } from "../src/lint/aligned-heads.ts";
import { type AttentionWork, type LintContext, scale } from "../src/lint/context.ts";
import { duration } from "../src/lint/formats.ts";
import { defineRule, type Site } from "../src/lint/rule.ts";
import { calledBy } from "../src/lint/source.ts";
import { type WrittenAttention, writtenAttention } from "../src/lint/written-attention.ts";

/**
 * ## What it does
 * Finds attention that the model writes out as MatMul, scale, mask, Softmax and MatMul, on a target that runs it so, and has a
 * fused kernel that takes its head_dim. Stacks that recognise the pattern themselves (TensorRT, the bundled runtime) are left alone.
 *
 * ## Why is this bad?
 * Written out, the scores of every query with every key go to memory and come back three or four times: for a sequence
 * of 2048 and 16 heads that is 128 MiB in FP16, each pass. A fused kernel keeps them on the chip. Some stacks recognise the
 * pattern, and any deviation from it (a Cast, an odd mask, a Reshape in between) makes them miss it without a word.
 *
 * The saving is what its kernels take now, less what the fused one takes. Copies that bring heads to their places count where they
 * are views before the operator (`inductor`, `cudnn`); ONNX Runtime keeps these Transposes before the operator's 4-D form, so on
 * `ort-cuda` they are no saving. Its 3-D form, with `q_num_heads`, has none, and so has com.microsoft's MultiHeadAttention, which ONNX
 * Runtimes that run Attention on the CPU have a kernel for.
 * Of heads off the multiple that fused kernels take (TC103) it is that of a slower fused kernel: where padded heads are sure to
 * take less, the finding says which size, and how much less.
 *
 * ## Example
 * ```onnx
 * p = Softmax(Add(Mul(MatMul(q, kt), scale), mask))
 * y = MatMul(p, v)
 * ```
 *
 * ## Use instead
 * ```onnx
 * y = Attention<scale = 0.125>(q, k, v, mask)    # ai.onnx opset 23, or MultiHeadAttention of com.microsoft
 * ```
 * In PyTorch: `torch.nn.functional.scaled_dot_product_attention`, exported with opset 23 or later.
 *
 * ## Fix safety
 * No fix: which fused operator a deployment has is not written in the model.
 *
 * ## References
 * - [Attention, ONNX operators](https://onnx.ai/onnx/operators/onnx__Attention.html)
 */
export default defineRule({
  code: "TC401",
  name: "unfused-attention",
  severity: "info",
  fix: "none",
  messages: {
    unfused:
      "attention of {heads} heads of {headDim}, {queryLength}×{keyLength}, is written as {nodes} nodes and runs as {kernels} kernels; {stack} has one: {change}",
  },
  *check(context) {
    const { stack } = context.target;
    const largest = stack.attention.headDimSteps.reduce((most, step) => Math.max(most, step), 0);
    for (const { node, scope, nodes, work, steps, kept, runs } of writtenAttention(context)) {
      if (work.headDim > largest) continue;
      const covers = steps.flatMap((step) => step.nodes.map((each) => ({ node: each, scope })));
      const saves = scale(context.savingOf(steps, [work, ...kept]), runs * context.measure(covers));
      if (!(saves.microseconds > 0)) continue;
      const { heads, headDim, queryLength, keyLength } = work;
      const sizes = { heads, headDim, queryLength, keyLength };
      const change = `${changeFor(node, scope.model)}${otherwise(stack)}${paddingFor({ node, scope }, work, context)}`;
      const data = {
        ...sizes,
        nodes: nodes.length,
        kernels: steps.length - kept.length,
        stack: stack.id,
        change,
      };
      yield { at: { node, scope }, message: "unfused", data, saves, covers };
    }
  },
});

/** Where ONNX's Attention may be no kernel of the GPU's. */
function otherwise({ attention }: LintContext["target"]["stack"]): string {
  return attention.otherwise === undefined
    ? ""
    : `, or as ${attention.otherwise} (older versions run Attention on the CPU)`;
}

/** What heads of another size take less in one fused kernel, in words; empty where none is sure to. */
function paddingFor({ node, scope }: Site, work: AttentionWork<number>, context: LintContext): string {
  const aligned = alignedHeads(work, context.target.stack);
  const saved = aligned && context.savingOf([work], [aligned]);
  if (aligned === undefined || saved === undefined || !(saved.low > 0)) return "";
  const { headDim, valueHeadDim } = aligned;
  const sizes = headDim === valueHeadDim ? headDim : `${headDim}, of values to ${valueHeadDim}`;
  const made = context.decision?.changeAt(node, scope)?.after?.work;
  // What comes behind that fix has them.
  if (made?.kind === "gemm" && made.k === headDim)
    return `; its saving is that of heads padded to ${sizes}, as safe fixes leave them`;
  return `; one of heads padded to ${sizes} (zeros; the scale stays that of ${work.headDim}) takes ${duration(saved.microseconds)} less`;
}

/** Of `Attention`, the operator of ONNX. */
const sinceOpset = 23;

/** Exporters write a call out below that opset: who has it already is not told to write it. */
function changeFor(node: WrittenAttention["node"], model: WrittenAttention["scope"]["model"]): string {
  const isCalled = calledBy(node, model)?.startsWith("aten.scaled_dot_product_attention") === true;
  return isCalled && (model.opsets.get("") ?? 0) < sinceOpset
    ? `export its F.scaled_dot_product_attention with opset ${sinceOpset} or later, as Attention`
    : `F.scaled_dot_product_attention, exported with opset ${sinceOpset} or later, as Attention`;
}
