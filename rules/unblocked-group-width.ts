import { type CostedProduct, type LintContext, type ProductWork, scale } from "../src/lint/context.ts";
import { blockedWidth, fallingShare, falls, widerPays } from "../src/lint/group-width.ts";
import { defineRule } from "../src/lint/rule.ts";

/** Of what the cost model predicts, what is claimed: layers of NCHW gained 0.2 to 0.6 of it and more, those of NHWC all of it. */
const sharePromised = { nchw: 0.4, nhwc: 1 } as const;

/**
 * ## What it does
 * Finds grouped convolutions in half precision whose channels a group are a multiple of 8, but neither divide 64 nor are a multiple
 * of it (24, 40, 48, 56, 72, 80 …), where groups padded to the next such width are predicted, and were measured, to be faster. For
 * stacks that run cuDNN. Widths off the multiple of 8 are TC106's.
 *
 * ## Why is this bad?
 * cuDNN's fast kernels for groups compute blocks of 64 channels: eight groups of 8, two of 32, half of one of 128. Other widths fall to
 * a general kernel, or to one launch a group.
 *
 * Measured on an H200 with cuDNN 9.19 (FP16): 3×3 on 28×28, 8 groups, batch 32 in NHWC, 48 channels a group 160 µs, 64 72 µs; batch 1 in
 * NCHW 27 and 15 µs. The positional convolution of wav2vec 2.0 (16 groups of 48, 499 positions, kernel of 128): 1244 µs, 360 with 64
 * a group, 51 with 32; batch 8 3366 and 436 µs. Eleven layers of 112 to 160 taps, 40 or 48 channels a group and 390 positions or more
 * saved 0.62 to 0.87 of their time, which is what is claimed of such a one. Not everything gains: kernels of 19 to 64 taps are slower
 * with 64 than with 48, as are sequences of fewer positions and large batches in NCHW. Those are left alone.
 *
 * ## Example
 * ```python
 * nn.Conv1d(768, 768, kernel_size=128, padding=64, groups=16)    # 48 channels a group
 * ```
 *
 * ## Use instead
 * ```python
 * nn.Conv1d(768, 768, kernel_size=128, padding=64, groups=24)    # 32 a group, before training
 * nn.Conv1d(1024, 1024, kernel_size=128, padding=64, groups=16)  # 64 a group: 16 zeros in each, of weights and input
 * ```
 *
 * ## Fix safety
 * No fix yet. Zeros added inside each group change no result.
 *
 * ## References
 * - [cuDNN developer guide, grouped convolutions](https://docs.nvidia.com/deeplearning/cudnn/latest/)
 */
export default defineRule({
  code: "TC108",
  name: "unblocked-group-width",
  severity: "warn",
  fix: "none",
  messages: {
    unblocked:
      "{groups} groups of {width} channels, kernel {kernel}: cuDNN's fast kernels take widths that divide 64 or are multiples of it; {padded} a group are faster",
  },
  *check(context) {
    // A stack that chooses layouts brings kernels of its own.
    if (context.choosesLayout) return;
    for (const product of context.products) {
      const wider = widerGroups(product.sizes, context);
      if (wider === undefined) continue;
      const { groups, width, padded, work } = wider;
      const saves = falls(work, width)
        ? shareOf(product)
        : scale(context.saving(product, work), sharePromised[work.layout]);
      if (!(saves.microseconds > 0)) continue;
      const data = { groups, width, padded, kernel: work.kernel.join("×") };
      yield { at: product, message: "unblocked", data, saves };
    }
  },
});

/** What was measured of such layers, of what this one is predicted to take. */
function shareOf({ estimate, runs }: CostedProduct) {
  const { low, microseconds, high } = fallingShare;
  return scale(
    {
      low: estimate.low * low,
      microseconds: estimate.microseconds * microseconds,
      high: estimate.high * high,
    },
    runs,
  );
}

function widerGroups(work: ProductWork<number>, context: LintContext) {
  if (work.kind !== "conv" || work.groups === 1 || work.transposed) return undefined;
  const { groups, channels, filters, dtype } = work;
  const type = context.computeType(dtype);
  const width = channels / groups;
  const padded = blockedWidth(width);
  // Others were not measured.
  const isHalf = type === "fp16" || type === "bf16";
  if (!isHalf || filters !== channels || width === padded || width % context.alignment(dtype) !== 0)
    return undefined;
  if (!widerPays(work, width, padded)) return undefined;
  const size = padded * groups;
  return { groups, width, padded, work: { ...work, channels: size, filters: size } };
}
