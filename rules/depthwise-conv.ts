import { percentOf } from "../src/lint/formats.ts";
import { defineRule } from "../src/lint/rule.ts";

/**
 * ## What it does
 * Counts depthwise convolutions (one channel a group) and says which share of the model's time they take. Once per
 * model.
 *
 * ## Why is this bad?
 * A depthwise convolution sums over its kernel's taps only, not over channels. It is no matrix product, so Tensor Cores
 * have nothing to do, and its channel count needs no alignment: measured on an H200 with cuDNN 9.19, 116, 120 and 128
 * channels show no step. It saves arithmetic that a Tensor Core would do almost for free, and is bound by memory
 * instead: its arithmetic intensity is low. The bundled runtime multiplies by diagonal matrices on Tensor Cores, seven
 * eighths of which are zeros: fewer instructions, and no more arithmetic than before.
 *
 * ## Example
 * ```onnx
 * y = Conv<group = 96>(x, w)   # x: [32, 96, 56, 56], w: [96, 1, 3, 3]
 * ```
 *
 * ## Use instead
 * Nothing, where the share is small. Where it is large, an architecture with plain convolutions of fewer channels in
 * the early stages (as the fused blocks of later EfficientNets do) may be both faster and more accurate; measure both.
 *
 * ## Fix safety
 * No fix: it would be another network.
 *
 * ## References
 * - [EfficientNetV2, on depthwise convolutions in early layers](https://arxiv.org/abs/2104.00298)
 */
export default defineRule({
  code: "TC107",
  name: "depthwise-conv",
  severity: "info",
  fix: "none",
  about: "region",
  messages: {
    depthwise:
      "depthwise convolutions: {count}, {percent} % of the predicted time, with no matrix product in them: nothing to mend in this network",
    measured:
      "depthwise convolutions: {count}, {percent} % of the measured time, with no matrix product in them: nothing to mend in this network",
  },
  *check(context) {
    const depthwise = context.products.filter(
      ({ sizes }) => sizes.kind === "conv" && sizes.groups > 1 && sizes.groups === sizes.channels,
    );
    const [first] = depthwise;
    if (first === undefined) return;
    const share = context.share(depthwise.reduce((total, { microseconds }) => total + microseconds, 0));
    const data = { count: depthwise.length, percent: percentOf(share), share };
    yield context.isMeasured
      ? { at: first, message: "measured", kind: "depthwise", data }
      : { at: first, message: "depthwise", data };
  },
});
