import type { ConvWork } from "../src/lint/context.ts";
import { formatNames, isQuantized } from "../src/lint/formats.ts";
import { type Axis, describeOff, describePadding, paddingOf } from "../src/lint/padding.ts";
import { defineRule } from "../src/lint/rule.ts";

/**
 * ## What it does
 * Finds grouped convolutions (more than one channel a group) whose channels a group are off the multiple that their
 * data type wants, where padding every group is predicted to gain.
 *
 * ## Why is this bad?
 * Each group is a small convolution of its own, with its own contiguous axis of channels / groups. A total that is a
 * multiple of 8 does not help: 256 channels in 64 groups are 4 channels a group, half of what one 16-byte load holds.
 *
 * Padding multiplies the activations of every group, so it pays less often than for a plain convolution; the cost model
 * of the target decides, and nothing is reported where it sees no gain.
 *
 * ## Example
 * ```onnx
 * y = Conv<group = 8>(x, w)   # x: [32, 96, 28, 28], w: [96, 12, 3, 3]: 12 channels a group
 * ```
 *
 * ## Use instead
 * ```onnx
 * y = Conv<group = 8>(x, w)   # x: [32, 128, 28, 28], w: [128, 16, 3, 3]: 16 channels a group
 * ```
 *
 * ## Fix safety
 * Safe: zeros are added inside each group, to weights and activations alike.
 *
 * ## References
 * - [cuDNN developer guide, grouped convolutions](https://docs.nvidia.com/deeplearning/cudnn/latest/)
 */
export default defineRule({
  code: "TC106",
  name: "misaligned-group-channels",
  severity: "warn",
  fix: "safe",
  messages: {
    misaligned:
      "{groups} groups of {channels} → {filters} channels, off the multiple of {multiple} ({format}); pad each group's {change}",
    off: "groups off the multiple of {multiple} ({format}); pad each group's {change}",
  },
  *check(context) {
    for (const product of context.products) {
      const work = product.sizes;
      if (work.kind !== "conv" || work.groups === 1 || work.channels === work.groups) continue;
      if (isQuantized(work.dtype)) continue;
      const multiple = context.alignment(work.dtype);
      const axes = axesOf(work);
      const padding = paddingOf(product, work, axes, context);
      if (padding === undefined) continue;
      const { groups } = work;
      const [channels, filters] = [work.channels / groups, work.filters / groups];
      yield {
        at: product,
        message: "misaligned",
        shared: "off",
        alike: { change: describeOff(padding, axes, { channels: "inputs", filters: "outputs" }) },
        data: {
          groups,
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

/** Sizes of one group. */
function axesOf({ channels, filters, groups }: ConvWork<number>): Axis<ConvWork<number>>[] {
  return [
    { name: "channels", size: channels / groups, copies: groups },
    { name: "filters", size: filters / groups, copies: groups },
  ];
}
