import { addSavings, type CostedProduct, type Saving, scale } from "../src/lint/context.ts";
import { type LayoutRegion, layoutRegions } from "../src/lint/layout-regions.ts";
import { conversionWork } from "../src/lint/memory-passes.ts";
import { perWork } from "../src/lint/per-work.ts";
import { defineRule } from "../src/lint/rule.ts";

/**
 * ## What it does
 * Finds regions of two- and three-dimensional convolutions in NCHW, as every ONNX exporter writes them, on a stack that runs
 * the layout of the file (cuDNN called directly, as eager PyTorch does). Stacks that choose layouts themselves (TensorRT, the bundled
 * runtime) or by a setting (ONNX Runtime's `prefer_nhwc`) are left alone. Once per connected region of convolutions; the layout conversions
 * at its boundary are counted against the gain.
 *
 * ## Why is this bad?
 * Tensor Core kernels read the channels of one position together, and want them contiguous. From NCHW a library
 * converts, or runs a slower kernel. Measured on an H200 with cuDNN 9.19 (FP16): a 3×3 convolution of 64 channels takes
 * 68 µs in NCHW and 38 in NHWC, of 464 channels 240 and 180; 1×1 convolutions gain 10 to 20 %.
 *
 * ## Example
 * ```python
 * model(x)                                       # contiguous: NCHW
 * ```
 *
 * ## Use instead
 * ```python
 * model.to(memory_format=torch.channels_last)    # in PyTorch; ONNX Runtime: prefer_nhwc; TensorRT: chooses itself
 * ```
 * ONNX itself has no memory format. `--fix --layout nhwc` writes the region with model-local functions that take NHWC,
 * and Transposes only at its boundary.
 *
 * ## Fix safety
 * Unsafe, so it has to be asked for (`--layout nhwc`): the same sums in another order of memory, but the nodes become
 * calls of functions. Regions of three spatial axes are not rewritten.
 *
 * ## References
 * - [Tensor layouts, convolution guide, NVIDIA](https://docs.nvidia.com/deeplearning/performance/dl-performance-convolutional/index.html)
 */
export default defineRule({
  code: "TC301",
  name: "nchw-conv",
  severity: "warn",
  fix: "unsafe",
  messages: {
    setting:
      "connected NCHW convolutions: {convolutions}; NHWC is faster, conversions at the borders ({conversions}) included: the provider option prefer_nhwc, or a rewritten file",
    nchw: "connected NCHW convolutions: {convolutions}; NHWC is faster on {stack}, conversions at the borders ({conversions}) included",
  },
  *check(context) {
    const { stack } = context.target;
    if (stack.layout === "stack") return;
    const message = stack.layout === "setting" ? "setting" : "nchw";
    const inChannelsLast = perWork((work: CostedProduct["sizes"]) =>
      context.savingOf([work], [work.kind === "conv" ? { ...work, layout: "nhwc" } : work]),
    );
    for (const region of layoutRegions(context)) {
      const conversions = region.borders.flatMap(
        (value) => conversionWork(value, region.scope, context) ?? [],
      );
      const saves = addSavings([
        ...region.convolutions.map(({ sizes, runs }) => scale(inChannelsLast(sizes), runs)),
        ...conversions.map((work) => everyRun(context.savingOf([], [work]), region)),
      ]);
      const [at] = region.convolutions;
      if (at === undefined || !(saves.microseconds > 0)) continue;
      const data = {
        convolutions: region.convolutions.length,
        conversions: conversions.length,
        stack: stack.id,
      };
      const fix = isFixable(region) ? "unsafe" : "none";
      yield { at, message, kind: "nchw", data, saves, covers: region.convolutions, fix };
    }
  },
});

/** The functions that `--fix` writes are of two spatial axes. */
function isFixable({ convolutions }: LayoutRegion): boolean {
  return convolutions.every(({ sizes }) => sizes.kind === "conv" && sizes.kernel.length === 2);
}

/** Borders are crossed as often as the region runs. */
function everyRun(saving: Saving, { convolutions }: LayoutRegion): Saving {
  return scale(saving, convolutions[0]?.runs ?? 1);
}
