import { type LintContext, type Saving, scale } from "../src/lint/context.ts";
import { conversionWork } from "../src/lint/memory-passes.ts";
import { type PatchConvolution, patchConvolutions } from "../src/lint/patches.ts";
import { defineRule, type Site } from "../src/lint/rule.ts";

/**
 * ## What it does
 * Finds convolutions of few channels whose kernel equals their stride, without padding (patch embeddings of vision
 * transformers, stems of ConvNeXt and Swin), where a reshape and one matrix product of the same weights are predicted to
 * be faster.
 *
 * ## Why is this bad?
 * The patches do not overlap, so that each is one row of a plain product. A convolution kernel gathers them itself: with
 * three channels a position it loads a few bytes at a time, and the large kernel makes that its whole work. Laying the patches
 * out as rows is one pass over the input, and a product of aligned rows runs at full rate. The product's result has channels
 * last, so that the Transpose in front of a transformer goes too.
 *
 * Measured on an H200 with cuDNN 9.19 (FP16, channels last, no bias): 1×3×224² in 16×16 patches to 768 channels 43.1 to
 * 6.5 µs, batch 32 263 to 27 µs; 14×14 to 1152 40.9 to 12.9 µs; 32×32 to 1024 175 to 10 µs; 4×4 to 96, batch 32, 31 to 23 µs.
 * It loses where the channels fill a 16-byte load: 2×2 of 96 channels 4.96 to 5.77 µs, batch 32 16.4 to 37.5 µs. Those are
 * left alone, and so is what runs on tc-lint's own runtime, which lays patches out as rows itself.
 *
 * The saving is the convolution, with the Transpose behind it where there is one, less the product and the Transpose that lays the patches
 * out; where something wants channels second, less the pass that turns the output over, too. With ONNX Runtime's `prefer_nhwc` the passes
 * that it puts around the convolution are in it as well, and those that it would put elsewhere instead.
 *
 * ## Example
 * ```python
 * self.proj = nn.Conv2d(3, 768, kernel_size=16, stride=16)
 * y = self.proj(x).flatten(2).transpose(1, 2)
 * ```
 *
 * ## Use instead
 * ```python
 * b, c, h, w = x.shape                                  # the same weights, p = 16
 * rows = x.reshape(b, c, h // p, p, w // p, p).permute(0, 2, 4, 1, 3, 5).reshape(b, -1, c * p * p)
 * y = F.linear(rows, self.proj.weight.flatten(1), self.proj.bias)
 * ```
 *
 * ## Fix safety
 * No fix yet. The change is exact but for the order of sums.
 *
 * ## References
 * - [An Image is Worth 16x16 Words, section 3.1](https://arxiv.org/abs/2010.11929)
 */
export default defineRule({
  code: "TC406",
  name: "patch-embedding",
  severity: "warn",
  fix: "none",
  messages: {
    patches:
      "{patch} patches of {channels} channels as a convolution; reshape and permute them to rows, and one product {m}×{n}×{k} is the same: F.linear(rows, conv.weight.flatten(1), conv.bias)",
  },
  *check(context) {
    if (context.target.stack.multipliesPatches) return;
    for (const patches of patchConvolutions(context)) {
      const { product, work, gemm } = patches;
      const covers = coveredBy(patches, context);
      const saves = savingOf(patches, covers, context);
      if (!(saves.microseconds > 0)) continue;
      const { m, n, k } = gemm;
      const data = { patch: work.kernel.join("×"), channels: work.channels, m, n, k };
      yield { at: product, message: "patches", data, saves, covers };
    }
  },
});

/** The convolution, and the passes that go with it. */
function coveredBy({ product, work, transposes, passes }: PatchConvolution, context: LintContext): Site[] {
  const { scope, node } = product;
  // Who chooses the layout and moves no Transpose has none to lose, as where convolutions are in NHWC already.
  const isApart = context.choosesLayout ? !context.target.stack.cancelsTransposes : work.layout === "nhwc";
  const nodes = [node, ...(isApart ? [] : (transposes ?? []))];
  return [...nodes.map((each) => ({ node: each, scope })), ...passes.sites];
}

function savingOf(patches: PatchConvolution, covers: readonly Site[], context: LintContext): Saving {
  const { product, work, gemm, gather, transposes, passes } = patches;
  const { scope, node, runs, estimate } = product;
  const isCovered = new Set(covers.map((site) => site.node));
  const gone = (transposes ?? []).filter((each) => isCovered.has(each));
  const steps = gone.flatMap((each) => context.timeline.stepOf(each, scope) ?? []);
  const [output] = node.outputs;
  const turns = !context.choosesLayout && work.layout !== "nhwc" && transposes === undefined;
  const back = turns && output !== undefined ? conversionWork(output, scope, context) : undefined;
  const before = [work, ...steps.map((step) => step.work), ...passes.before];
  // Turning axes over took up to twice as long as a copy is predicted to, never less: bench/results/rewrites.jsonl.
  const after = [gemm, ...gather, ...(back === undefined ? [] : [back, back]), ...passes.after];
  const { microseconds, low, high } = context.savingOf(before, after);
  // Convolutions are priced with a bias, which some do not have.
  const bias = node.inputs[2] === undefined ? estimate.biasMicroseconds : 0;
  const times = runs * context.measure(covers);
  return scale({ microseconds: microseconds - bias, low: low - bias, high: high - bias }, times);
}
