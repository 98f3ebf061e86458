import { channelsLastIn } from "../src/lint/channels-last.ts";
import { layoutTransposes } from "../src/lint/layout-transposes.ts";
import { stepTimeAt } from "../src/lint/precision.ts";
import { defineRule } from "../src/lint/rule.ts";

/**
 * ## What it does
 * Finds Transposes that only move the channel axis, from second to last or back, between a convolution and another
 * product.
 *
 * ## Why is this bad?
 * Such a Transpose is a pass over the whole activation that computes nothing. It is there because ONNX convolutions are
 * NCHW while matrix products and normalizations over channels want them last. A stack that keeps activations in NHWC
 * needs none of them (TensorRT, Inductor, ONNX Runtime's `prefer_nhwc`, the bundled runtime), and there the rule is silent: the
 * convolution before already writes the layout that the product behind reads.
 *
 * ## Example
 * ```onnx
 * a = Conv(x, w)                        # [8, 96, 56, 56]
 * b = Transpose<perm = [0, 2, 3, 1]>(a)
 * y = MatMul(LayerNormalization(b), v)
 * ```
 *
 * ## Use instead
 * ```onnx
 * a = NhwcConv(x, w)                    # [8, 56, 56, 96]
 * y = MatMul(LayerNormalization(a), v)
 * ```
 *
 * ## Fix safety
 * Unsafe, so it has to be asked for (`--layout nhwc`): the convolutions around become calls of functions that take NHWC,
 * and the Transposes cancel. On `ort-cuda` no file decides the layout (see TC301): what is told there is what the provider option `prefer_nhwc`
 * spares, a part of its step, and those that it leaves (behind a Reshape, say) are not named.
 *
 * ## References
 * - [Tensor layouts, convolution guide, NVIDIA](https://docs.nvidia.com/deeplearning/performance/dl-performance-convolutional/index.html)
 */
export default defineRule({
  code: "TC302",
  name: "layout-transpose",
  severity: "warn",
  fix: "unsafe",
  messages: {
    setting:
      "Transpose {perm} only moves channels {direction}, between {before} and {behind}: no pass with the provider option {option}",
    converts: "Transpose {perm} only moves channels {direction}, between {before} and {behind}",
    author:
      "Transpose {perm} only moves channels {direction}, between {before} and {behind}; in PyTorch no pass with {change}",
    allSetting: "Transposes only move channels: no pass with the provider option {option}",
    allConverts: "Transposes only move channels",
    allAuthor: "Transposes only move channels; in PyTorch no pass with {change}",
  },
  *check(context) {
    // Such a stack writes every activation in NHWC: what the file spells as a Transpose to or from it is no pass there.
    if (context.choosesLayout) return;
    const { layoutSetting: setting } = context;
    const transposes = layoutTransposes(context);
    // What a step is made of is asked where there is something to be told.
    const layout = transposes.length > 0 ? context.layoutStep() : undefined;
    const gains = layout?.gainOf(transposes.map(({ step }) => step)) ?? 0;
    for (const { step, perm, node, scope, ...between } of transposes) {
      const data = { perm: `[${perm.join(", ")}]`, ...between };
      if (setting !== undefined) {
        // Where nobody knows what the option makes of the file, it is a pass without it, and with it perhaps none.
        const saves = layout
          ? layout.partOf([step], gains)
          : { ...stepTimeAt(step, context.target.precision, context), low: 0 };
        if (saves === undefined || saves.microseconds <= 0) continue;
        const said = {
          message: "setting",
          shared: "allSetting",
          data: { ...data, option: setting.option },
        } as const;
        yield { ...said, at: { node, scope }, saves, fix: "none", setting };
        continue;
      }
      // With convolutions in NHWC it is gone, or only its author can spare it.
      const decided = layout?.partOf([step], gains);
      const saves = decided ?? stepTimeAt(step, context.target.precision, context);
      const fix = context.knowsLayout && decided === undefined ? "none" : "unsafe";
      const told = { at: { node, scope }, kind: "converts", saves, fix } as const;
      const change = channelsLastIn(perm.length - 2);
      if (fix === "none")
        yield { ...told, message: "author", shared: "allAuthor", data: { ...data, change } };
      else yield { ...told, message: "converts", shared: "allConverts", data };
    }
  },
});
