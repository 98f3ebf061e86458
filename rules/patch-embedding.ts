import { type CostedProduct, type LintContext, type Saving, scale } from "../src/lint/context.ts";
import { conversionWork } from "../src/lint/memory-passes.ts";
import { isUnpadded, type PatchProduct, patchesAsProduct, transposesToLast } from "../src/lint/patches.ts";
import { defineRule } from "../src/lint/rule.ts";

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
 * The saving is the convolution, with the Transpose behind it where there is one, less the product and a copy of the input; where
 * something wants channels second, less the pass that turns the output over, too.
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
    for (const product of context.products) {
      const work = product.sizes;
      if (work.kind !== "conv" || product.weight === undefined || !isUnpadded(product)) continue;
      const patches = patchesAsProduct(work, context.alignment(work.dtype));
      const saves = patches && savingOf(product, patches, context);
      if (patches === undefined || saves === undefined || !(saves.microseconds > 0)) continue;
      const { m, n, k } = patches.gemm;
      const { channels, kernel } = work;
      yield { at: product, message: "patches", data: { patch: kernel.join("×"), channels, m, n, k }, saves };
    }
  },
});

function savingOf(
  product: CostedProduct,
  { gemm, gather }: PatchProduct,
  context: LintContext,
): Saving | undefined {
  const keeps = context.choosesLayout || isChannelsLast(product);
  const transposes = keeps ? [] : transposesToLast(product, context);
  const [output] = product.node.outputs;
  const turns = transposes === undefined && output !== undefined;
  const back = turns ? conversionWork(output, product.scope, context) : undefined;
  const before = [product.sizes, ...(transposes ?? []).map(({ work }) => work)];
  // Turning axes over took up to twice as long as a copy is predicted to, never less: bench/results/rewrites.jsonl.
  const after = back === undefined ? [gemm, gather] : [gemm, gather, back, back];
  const { microseconds, low, high } = context.savingOf(before, after);
  // Convolutions are priced with a bias, which some do not have.
  const bias = product.node.inputs[2] === undefined ? product.estimate.biasMicroseconds : 0;
  const times = product.runs * context.measure([product]);
  return scale({ microseconds: microseconds - bias, low: low - bias, high: high - bias }, times);
}

function isChannelsLast({ sizes }: CostedProduct): boolean {
  return sizes.kind === "conv" && sizes.layout === "nhwc";
}
