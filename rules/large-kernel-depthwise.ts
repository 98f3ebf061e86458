import type { ConvWork, CostedProduct } from "../src/lint/context.ts";
import { defineRule } from "../src/lint/rule.ts";

/** The widest kernel that cuDNN has fast depthwise kernels for. */
const widestFast = 7;

/**
 * ## What it does
 * Finds depthwise convolutions over two axes with a kernel of more than 7 along both, which fits into the map it slides over. For
 * stacks that run cuDNN.
 *
 * ## Why is this bad?
 * cuDNN has depthwise kernels for 3×3, 5×5 and 7×7. Above that a general one runs, whose time grows by more than the taps.
 *
 * Measured on an H200 with cuDNN 9.19 (FP16, 32×96×56²): in NHWC 7×7 91 µs, 9×9 1253, 13×13 2023, 31×31 3444 µs; in NCHW 7×7 337 µs, 9×9 567,
 * 13×13 812, 31×31 3041 µs.
 *
 * The saving is that of 7×7, in the layout it has: what the step above the fast kernels costs.
 *
 * ## Example
 * ```python
 * nn.Conv2d(96, 96, kernel_size=13, padding=6, groups=96)
 * ```
 *
 * ## Use instead
 * ```python
 * nn.Sequential(*[nn.Conv2d(96, 96, kernel_size=7, padding=3, groups=96) for _ in range(2)])    # sees 13×13 too
 * ```
 * Or a stack with a kernel for it, as the authors of RepLKNet wrote one.
 *
 * ## Fix safety
 * No fix: a smaller kernel is another network, to be trained as such.
 *
 * ## References
 * - [RepLKNet, scaling up kernels](https://arxiv.org/abs/2203.06717)
 */
export default defineRule({
  code: "TC109",
  name: "large-kernel-depthwise",
  severity: "info",
  fix: "none",
  messages: {
    large:
      "depthwise {kernel} over {channels} channels: cuDNN's fast depthwise kernels end at 7×7; two of 7×7 see 13×13",
  },
  *check(context) {
    if (context.choosesLayout) return;
    for (const product of context.products) {
      const work = largeKernel(product);
      if (work === undefined) continue;
      const saves = context.saving(product, { ...work, kernel: work.kernel.map(() => widestFast) });
      if (!(saves.microseconds > 0)) continue;
      const { channels, kernel } = work;
      yield { at: product, message: "large", data: { kernel: kernel.join("×"), channels }, saves };
    }
  },
});

/** One that leaves its map's edges: beyond them there is nothing to multiply, and nothing to save. */
function largeKernel({ sizes: work }: CostedProduct): ConvWork<number> | undefined {
  if (work.kind !== "conv" || work.transposed || work.kernel.length !== 2) return undefined;
  if (work.groups === 1 || work.groups !== work.channels) return undefined;
  const fits = work.kernel.every((size, axis) => size > widestFast && size <= (work.input[axis] ?? 0));
  return fits && work.dilations.every((each) => each === 1) ? work : undefined;
}
