import { channelsLastIn } from "../src/lint/channels-last.ts";
import { addSavings, type CostedProduct, type LintContext, type Saving, scale } from "../src/lint/context.ts";
import { ProductIndex } from "../src/lint/graph.ts";
import { type LayoutRegion, layoutRegions } from "../src/lint/layout-regions.ts";
import type { LayoutStep } from "../src/lint/layout-step.ts";
import { layoutTransposes } from "../src/lint/layout-transposes.ts";
import { conversionWork } from "../src/lint/memory-passes.ts";
import { perWork } from "../src/lint/per-work.ts";
import { defineRule } from "../src/lint/rule.ts";

/**
 * ## What it does
 * Finds regions of two- and three-dimensional convolutions in NCHW, as every ONNX exporter writes them, on a stack that runs them in NCHW: cuDNN
 * called directly, as eager PyTorch does, and ONNX Runtime without its setting `prefer_nhwc`. Stacks that choose layouts themselves
 * (TensorRT, `--stack ort-cuda-nhwc`, the bundled runtime) are left alone. Once per connected region of convolutions; where the file decides its
 * layout, the conversions at its boundary are counted against the gain.
 *
 * The saving is the region's part of the account's layout step: what the rewrite saves behind the safe fixes. Where it leaves a region (in a
 * subgraph, of three spatial axes), the finding says so, no command fixes it, and it is its author's.
 *
 * On `ort-cuda` no file decides the layout: ONNX Runtime turns a rewritten file back into NCHW before it runs. The saving is that of the provider
 * option `prefer_nhwc`, with the conversions that ONNX Runtime makes where something knows NCHW alone (those of one and of three axes are turned, too); no command makes it, and it is no more than a warning: whoever sets the option lints with `--stack ort-cuda-nhwc`.
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
 * ONNX itself has no memory format. The fix writes the region with model-local functions that take NHWC,
 * and Transposes only at its boundary.
 *
 * ## Fix safety
 * Unsafe, so it has to be asked for: `--unsafe-fixes` takes it where it is sure to gain, `--layout nhwc` asks for it by name, be it slower. The same
 * sums in another order of memory, but the nodes become calls of functions. Regions of three spatial axes are not rewritten by either.
 * For `ort-cuda` `--unsafe-fixes` leaves it, and `--layout nhwc` gains nothing, unless `--target ort-cuda` writes `com.microsoft::NhwcConv`.
 *
 * ## References
 * - [Tensor layouts, convolution guide, NVIDIA](https://docs.nvidia.com/deeplearning/performance/dl-performance-convolutional/index.html)
 */
export default defineRule({
  code: "TC301",
  name: "nchw-conv",
  severity: "warn",
  fix: "unsafe",
  about: "region",
  messages: {
    setting:
      "connected NCHW convolutions: {convolutions}; NHWC is faster: set the provider option {option}, and lint with --stack {with}",
    option:
      "NCHW convolutions; NHWC is faster: set the provider option {option}, and lint with --stack {with}",
    nchw: "connected NCHW convolutions: {convolutions}; NHWC is faster on {stack}, conversions at the borders ({conversions}) included",
    author:
      "connected NCHW convolutions: {convolutions}; NHWC is faster on {stack}, conversions at the borders ({conversions}) included; in PyTorch: {change}",
  },
  *check(context) {
    const { stack } = context.target;
    if (context.choosesLayout) return;
    const { layoutSetting: setting } = context;
    for (const { conversions, fix, left, ...region } of setting ? bySetting(context) : found(context)) {
      const { convolutions, saves } = region;
      const [at] = convolutions;
      if (at === undefined || !(saves.microseconds > 0)) continue;
      const common = { at, kind: "nchw", saves, covers: convolutions, fix, left, setting };
      const count = convolutions.length;
      if (setting === undefined) {
        const data = { convolutions: count, conversions, stack: stack.id };
        const change = channelsLastIn(at.sizes.kind === "conv" ? at.sizes.kernel.length : 2);
        if (fix === "none") yield { ...common, message: "author", data: { ...data, change } };
        else yield { ...common, message: "nchw", data };
      } else {
        const { option, stack: other } = setting;
        // One option turns all of them.
        yield {
          ...common,
          message: "setting",
          shared: "option",
          data: { convolutions: count, option, with: other },
        };
      }
    }
  },
});

interface Found {
  readonly convolutions: readonly CostedProduct[];
  /** At the borders. */
  readonly conversions: number;
  readonly saves: Saving;
  readonly fix: "unsafe" | "none";
  readonly left?: string | undefined;
}

/** What a setting of the stack moves, conversions included: parts of its step; by estimate where nobody knows that. */
function* bySetting(context: LintContext): Iterable<Found> {
  const none = { conversions: 0, fix: "none" } as const;
  const layout = context.layoutStep();
  const regions = layoutRegions(context).map((region) => ({ ...region, borders: [] }));
  if (layout === undefined) {
    const estimates = new Estimates(context);
    for (const region of regions) yield { ...region, ...none, saves: estimates.savingOf(region) };
    return;
  }
  const gains = regions.map(({ convolutions }) => {
    const steps = convolutions.flatMap(({ node, scope }) => context.timeline.stepOf(node, scope) ?? []);
    return Math.max(0, layout.gainOf(steps));
  });
  const whole = gains.reduce((sum, gain) => sum + gain, 0);
  const { saves } = layout.change;
  const ofRegions = 1 - ofTransposes(layout, context) / saves.microseconds;
  for (const [at, { convolutions }] of regions.entries()) {
    const part = ((gains[at] ?? 0) / whole) * ofRegions;
    if (part > 0) yield { convolutions, ...none, saves: scale(saves, part) };
  }
}

/** What the rewrite moves, and what it leaves, by estimate; all by estimate where nobody knows what it does. */
function* found(context: LintContext): Iterable<Found> {
  if (context.knowsLayout) yield* decided(context);
  const estimated = context.products.filter(isInNchw);
  if (context.knowsLayout && estimated.every((product) => reasonToLeave(product) === undefined)) return;
  const estimates = new Estimates(context);
  for (const region of layoutRegions(context)) {
    const left = region.convolutions.map(reasonToLeave).find((reason) => reason !== undefined);
    if (context.knowsLayout && left === undefined) continue;
    const { convolutions } = region;
    const conversions = conversionsOf(region, context).length;
    const fix = left === undefined ? "unsafe" : "none";
    yield { convolutions, conversions, saves: estimates.savingOf(region), fix, left };
  }
}

/** Regions of the rewrite with their parts of what the layout step saves, borders and all, but for what other findings claim of it. */
function* decided(context: LintContext): Iterable<Found> {
  const layout = context.layoutStep();
  if (layout === undefined) return;
  const { root } = context.facts;
  const index = ProductIndex.of(context.products);
  const { saves } = layout.change;
  const elsewhere = ofTransposes(layout, context);
  const gains = layout.regions.map(({ microseconds }) => Math.max(0, microseconds));
  const whole = gains.reduce((sum, gain) => sum + gain, 0);
  for (const [at, { convolutions: nodes, borders }] of layout.regions.entries()) {
    const convolutions = nodes.flatMap((node) => index.get(node, root) ?? []);
    const part = ((gains[at] ?? 0) / whole) * (1 - elsewhere / saves.microseconds);
    if (part > 0) yield { convolutions, conversions: borders, saves: scale(saves, part), fix: "unsafe" };
  }
}

/** Microseconds of the step that are told of Transposes (TC302). */
function ofTransposes(layout: LayoutStep, context: LintContext): number {
  const transposes = layoutTransposes(context).map(({ step }) => step);
  return layout.partOf(transposes, layout.gainOf(transposes))?.microseconds ?? 0;
}

function isInNchw({ sizes }: CostedProduct): boolean {
  return sizes.kind === "conv" && sizes.layout === "nchw" && sizes.kernel.length >= 2;
}

/** Why `--layout nhwc` leaves a convolution; undefined where it does not. */
function reasonToLeave({ scope, sizes }: CostedProduct): string | undefined {
  if (!scope.isMain) return "it is in a subgraph or a function";
  const isFlat = sizes.kind === "conv" && sizes.kernel.length === 2;
  return isFlat ? undefined : "NHWC forms are written for two spatial axes";
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
      ...region.convolutions.map((product) => {
        const times = product.runs * this.#context.measure([product]);
        return scale(this.#inChannelsLast(product.sizes), times);
      }),
      // Borders are crossed as often as the region runs.
      ...conversionsOf(region, this.#context).map((work) =>
        scale(this.#context.savingOf([], [work]), first?.runs ?? 1),
      ),
    ]);
  }
}
