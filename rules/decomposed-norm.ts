import { addSavings, type LintContext, type Saving, scale } from "../src/lint/context.ts";
import { fusedSaving, type WrittenNorm, writtenNorms } from "../src/lint/fused-saving.ts";
import { castTime, islandSaving } from "../src/lint/island-saving.ts";
import { findIslands, type Island } from "../src/lint/islands.ts";
import { defineRule } from "../src/lint/rule.ts";

/** As in TC409: of what the cost model says of elementwise passes, these take 0.66 to 0.96 on an H200. */
const plainPass = 0.75;

/**
 * ## What it does
 * Finds LayerNorm and RMSNorm that are written as means, squares, a root and a quotient, on a target that runs a kernel a node. Stacks
 * that recognise the pattern (ONNX Runtime's LayerNormFusion, TensorRT, the bundled runtime) are left alone, but where the norm is
 * in FP32 between half-precision neighbours: these Casts they run.
 *
 * ## Why is this bad?
 * Each of up to nine nodes reads and writes the whole activation, or at least launches a kernel for one number a row. One kernel
 * reads a row, normalizes it on the chip and writes it. Squares overflow half and an epsilon rounds to 0 there, so that a norm that is
 * written out stays FP32 where half precision is written, between Casts; the operators read half and sum in FP32.
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
    between:
      "{kind} in FP32 between half-precision neighbours, as {nodes} nodes, with Casts: {casts}; {module} exported with opset {opset} or later is one operator that reads half and sums in FP32",
  },
  *check(context) {
    // Whoever joins chains of elementwise nodes knows these norms, too.
    const isRecognised = context.target.stack.fuses.elementwise !== "none";
    const islands = findIslands(context.facts);
    if (isRecognised && islands.length === 0) return;
    for (const scope of context.facts.scopes()) {
      for (const norm of writtenNorms(scope, context)) {
        const { kind, nodes } = norm;
        const common = { kind, module: `nn.${kind}`, opset: kind === "RMSNorm" ? 23 : 17 };
        const fused = isRecognised ? undefined : fusedSaving(norm, context);
        const island = islands.find((each) => isAround(each, norm));
        const saves = savingOf(island, fused?.saves, context);
        if (saves === undefined || !(saves.microseconds > 0)) continue;
        const covers = [...nodes, ...(island?.casts ?? [])].map((node) => ({ node, scope }));
        const told = { at: norm, saves, covers };
        if (island !== undefined) {
          const data = { ...common, nodes: island.nodes.length, casts: island.casts.length };
          yield { ...told, message: "between", data };
        } else if (fused !== undefined) {
          const data = { ...common, nodes: nodes.length, kernels: fused.kernels };
          yield { ...told, message: "written", data };
        }
      }
    }
  },
});

/** Whether the norm is all there is between the Casts. */
function isAround({ scope, nodes }: Island, norm: WrittenNorm): boolean {
  const own = new Set(norm.nodes);
  return scope === norm.scope && nodes.length > 0 && nodes.every((node) => own.has(node));
}

/** Of kernels, their Casts beside them; where the stack has one kernel for the norm, of what the types cost. */
function savingOf(
  island: Island | undefined,
  fused: Saving | undefined,
  context: LintContext,
): Saving | undefined {
  if (fused === undefined) return island && islandSaving(island, context);
  const kernels = scale(fused, plainPass);
  return island === undefined ? kernels : addSavings([kernels, castTime(island, context)]);
}
