import type { ConvWork } from "../src/lint/context.ts";
import { formatNames, isQuantized } from "../src/lint/formats.ts";
import { isFirstLayer, ProductIndex } from "../src/lint/graph.ts";
import { type Axis, describeOff, describePadding, paddingOf } from "../src/lint/padding.ts";
import { defineRule } from "../src/lint/rule.ts";
import { isNarrowStem } from "../src/lint/stem.ts";

/**
 * ## What it does
 * Finds convolutions whose input or output channels are off the multiple that their data type wants: 8 for FP16 and
 * BF16, 4 for TF32, 16 for INT8.
 *
 * Depthwise convolutions are left alone (no matrix product in them, see TC107), grouped ones are counted by the group
 * (TC106), and the one or three input channels of a network's first layer have a rule of their own (TC105). A single channel is no width to
 * round up: measured, one output of 64 channels takes 9.4 µs, eight 10.9.
 *
 * ## Why is this bad?
 * Channels are the contiguous axis. A Tensor Core kernel fetches them by 16-byte vector loads (cp.async, TMA), which
 * need rows aligned to 16 bytes: off the multiple, a kernel with narrower loads runs. Tensor Cores still do the work,
 * it only takes longer.
 *
 * Measured on an H200 with cuDNN 9.19 (FP16, channels last): 64 to 60 channels, 38 to 80 µs; 256 to 255, 63 to 114 µs;
 * 48 to 50, 37 to 80 µs. A multiple of 4 gains little over an odd number. A network of 67, 129 and 251 channels runs
 * 1.64 to 1.86 times as fast with 72, 136 and 256.
 *
 * A finding is reported only where the cost model predicts a gain on the target: few output channels on a small map
 * take the same time padded or not.
 *
 * ## Example
 * ```onnx
 * y = Conv(x, w)   # x: [32, 67, 56, 56], w: [129, 67, 3, 3]
 * ```
 *
 * ## Use instead
 * ```onnx
 * y = Conv(x, w)   # x: [32, 72, 56, 56], w: [136, 72, 3, 3], zeros in the new channels
 * ```
 * In Python: round widths up, `channels = -(-channels // 8) * 8`, before training; or let `--fix` add the zeros.
 *
 * ## Fix safety
 * Safe: the new filters and the new input weights are zero, so no real channel changes. Sums may be taken in another
 * order, within rounding.
 *
 * ## References
 * - [Convolution guide, NVIDIA](https://docs.nvidia.com/deeplearning/performance/dl-performance-convolutional/index.html)
 */
export default defineRule({
  code: "TC101",
  name: "misaligned-conv-channels",
  severity: "warn",
  fix: "safe",
  messages: {
    misaligned:
      "{channels} → {filters} channels, off the multiple of {multiple}: a slower {format} kernel runs; pad {change}",
    inputs:
      "{channels} → {filters} channels, inputs off the multiple of {multiple}: a slower {format} kernel runs; pad {change}",
    outputs:
      "{channels} → {filters} channels, outputs off the multiple of {multiple}: a slower {format} kernel runs; pad {change}",
    aligned: "{channels} → {filters} channels: a faster {format} kernel runs with more; pad {change}",
    off: "off the multiple of {multiple}: a slower {format} kernel runs; pad {change}",
    more: "a faster {format} kernel runs with more channels; pad {change}",
  },
  *check(context) {
    const index = ProductIndex.of(context.products);
    for (const product of context.products) {
      const work = product.sizes;
      if (work.kind !== "conv" || work.groups !== 1 || isQuantized(work.dtype)) continue;
      const multiple = context.alignment(work.dtype);
      const isStem = isNarrowStem(work) && isFirstLayer(product, index);
      const padded = context.decision?.paddedOf<ConvWork<number>>(product, "conv")?.work;
      // A stem whose inputs alone grow is TC105's.
      const axes = axesOf(work, isStem && (padded === undefined || padded.filters === work.filters));
      const padding = paddingOf(product, work, axes, context);
      if (padding === undefined) continue;
      const { channels, filters } = work;
      const message = messageOf(work, multiple);
      yield {
        at: product,
        message,
        shared: message === "aligned" ? "more" : "off",
        alike: { change: describeOff(padding, axes, { channels: "inputs", filters: "outputs" }) },
        // One cause, whichever side has it.
        kind: "misaligned",
        data: {
          channels,
          filters,
          paddedChannels: padding.sizes.get("channels") ?? channels,
          paddedFilters: padding.sizes.get("filters") ?? filters,
          multiple,
          format: formatNames[context.computeType(work.dtype)],
          change: describePadding(padding, axes, { channels: "inputs", filters: "outputs" }),
        },
        saves: padding.saves,
      };
    }
  },
});

/** By the side that is off; a neighbour's padding may grow one that is not. */
function messageOf({ channels, filters }: ConvWork<number>, multiple: number) {
  const [inputs, outputs] = [channels % multiple !== 0, filters % multiple !== 0];
  if (inputs) return outputs ? "misaligned" : "inputs";
  return outputs ? "outputs" : "aligned";
}

function axesOf(work: ConvWork<number>, isStem: boolean): Axis<ConvWork<number>>[] {
  const filters = { name: "filters", size: work.filters } as const;
  return isStem ? [filters] : [{ name: "channels", size: work.channels }, filters];
}
