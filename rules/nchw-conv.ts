import { addSavings, type CostedProduct, type LintContext, type Saving, scale } from "../src/lint/context.ts";
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
 * The saving is the region's part of the account's layout step: what `--fix --layout nhwc` saves behind the safe fixes, by the rewrite
 * itself. Where that leaves a region (in a subgraph, of three spatial axes), the finding says so and is its author's.
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
    const estimates = new Estimates(context);
    for (const region of layoutRegions(context)) {
      const left = reasonToLeave(region);
      const isDecided = left === undefined && context.knowsLayout;
      const convolutions = isDecided ? convertedIn(region, context) : region.convolutions;
      const [at] = convolutions;
      if (at === undefined) continue;
      const saves = isDecided ? decidedSaving(convolutions, context) : estimates.savingOf(region);
      if (saves === undefined || !(saves.microseconds > 0)) continue;
      const conversions = conversionsOf(region, context).length;
      const data = { convolutions: convolutions.length, conversions, stack: stack.id };
      const fix = left === undefined ? "unsafe" : "none";
      yield { at, message, data, saves, covers: convolutions, fix, left };
    }
  },
});

/** Why `--layout nhwc` leaves a region; undefined where it does not. */
function reasonToLeave({ scope, convolutions }: LayoutRegion): string | undefined {
  if (!scope.isMain) return "it is in a subgraph or a function";
  const isFlat = convolutions.every(({ sizes }) => sizes.kind === "conv" && sizes.kernel.length === 2);
  return isFlat ? undefined : "NHWC forms are written for two spatial axes";
}

function convertedIn({ convolutions, scope }: LayoutRegion, context: LintContext): readonly CostedProduct[] {
  const layout = context.layoutStep();
  return convolutions.filter(({ node }) => {
    const step = context.timeline.stepOf(node, scope);
    return step !== undefined && layout?.converts(step) === true;
  });
}

/** Their part of what the layout step saves, its borders included. */
function decidedSaving(convolutions: readonly CostedProduct[], context: LintContext): Saving | undefined {
  const steps = convolutions.flatMap(({ node, scope }) => context.timeline.stepOf(node, scope) ?? []);
  return context.layoutStep()?.partOf(steps);
}

function conversionsOf({ borders, scope }: LayoutRegion, context: LintContext) {
  return borders.flatMap((value) => conversionWork(value, scope, context) ?? []);
}

/** Regions each by itself, where nobody knows what the rewrite makes of them. */
class Estimates {
  readonly #context: LintContext;
  readonly #inChannelsLast: (work: CostedProduct["sizes"]) => Saving;

  constructor(context: LintContext) {
    this.#context = context;
    this.#inChannelsLast = perWork((work) =>
      context.savingOf([work], [work.kind === "conv" ? { ...work, layout: "nhwc" } : work]),
    );
  }

  savingOf(region: LayoutRegion): Saving {
    const [first] = region.convolutions;
    return addSavings([
      ...region.convolutions.map(({ sizes, runs }) => scale(this.#inChannelsLast(sizes), runs)),
      // Borders are crossed as often as the region runs.
      ...conversionsOf(region, this.#context).map((work) =>
        scale(this.#context.savingOf([], [work]), first?.runs ?? 1),
      ),
    ]);
  }
}
