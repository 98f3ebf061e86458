import type { ConvWork } from "../src/lint/context.ts";
import { isFirstLayer, ProductIndex } from "../src/lint/graph.ts";
import { defineRule } from "../src/lint/rule.ts";
import { isNarrowStem, stemPadding } from "../src/lint/stem.ts";

/**
 * ## What it does
 * Finds a network's first convolution where it reads 1 or 3 channels and would run faster with 4.
 *
 * ## Why is this bad?
 * Three halves are 6 bytes: no load instruction has that width. Four are 8 bytes. Padding to 8, the multiple that every
 * other layer wants, costs more than it gains, because a first layer has the largest maps and most of its work would
 * be zeros.
 *
 * Measured on an H200 with cuDNN 9.19 (7×7, stride 2, FP16, channels last): 3 channels 152 µs, 4 channels 130 µs,
 * 8 channels 235 µs, 16 channels 274 µs.
 *
 * ## Example
 * ```onnx
 * y = Conv(image, w)   # image: [32, 3, 224, 224], w: [64, 3, 7, 7]
 * ```
 *
 * ## Use instead
 * ```onnx
 * y = Conv(image, w)   # image: [32, 4, 224, 224], w: [64, 4, 7, 7], zeros in the fourth channel
 * ```
 * Where the image is made on the GPU, write it with four channels there: that is free. A Pad node at the graph's input
 * costs a pass over the image, which `--fix` counts before it decides.
 *
 * ## Fix safety
 * Safe: the weights of the added channel are zero.
 *
 * ## References
 * - [Convolution guide, NVIDIA](https://docs.nvidia.com/deeplearning/performance/dl-performance-convolutional/index.html)
 */
export default defineRule({
  code: "TC105",
  name: "narrow-stem",
  severity: "info",
  fix: "safe",
  messages: {
    narrow: "first convolution reads {channels} channels: {padded} run faster{change}",
  },
  *check(context) {
    const index = ProductIndex.of(context.products);
    for (const product of context.products) {
      const work = product.sizes;
      if (work.kind !== "conv" || !isNarrowStem(work) || !isFirstLayer(product, index)) continue;
      const decided = context.decision?.paddedOf<ConvWork<number>>(product, "conv");
      // One whose filters grow too is TC101's.
      if (decided !== undefined && decided.work.filters !== work.filters) continue;
      const padded = decided?.work.channels ?? stemPadding;
      const saves = decided?.saves ?? context.saving(product, { ...work, channels: stemPadding });
      if (!(saves.microseconds > 0)) continue;
      // Where `--fix` leaves it, somebody else may do it: beside what prepares the input, it costs no copy.
      const change =
        decided === undefined ? `; pad its input and its weight to ${padded} with zeros (F.pad)` : "";
      yield {
        at: product,
        message: "narrow",
        data: { channels: work.channels, padded, filters: work.filters, change },
        saves,
      };
    }
  },
});
