import { percentOf } from "../src/lint/formats.ts";
import { defineRule } from "../src/lint/rule.ts";

/** Below a twentieth of the model's time there is nothing in it to gain. */
const worthSaying = 0.05;

/**
 * ## What it does
 * Counts products so small that starting a kernel takes longer than its work, where they take at least 5 % of the
 * model's predicted time together. Once per model.
 *
 * ## Why is this bad?
 * A kernel takes about 2 µs on an H200 however little it computes, and such a product uses a few of the 132
 * multiprocessors. Padding, layout and number format change nothing there; more work a launch does: a larger batch,
 * products merged (TC402), or a recorded CUDA graph where the host is the bottleneck.
 *
 * ## Example
 * ```onnx
 * y = Gemm(x, w)    # x: [1, 512], w: [512, 128]
 * ```
 *
 * ## Use instead
 * ```onnx
 * y = Gemm(x, w)    # x: [64, 512]: 64 requests in about the same time
 * ```
 *
 * ## Fix safety
 * No fix: the batch is the caller's to choose. `--dim batch=64` shows what it brings.
 *
 * ## References
 * - [Matrix multiplication guide, NVIDIA](https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html)
 */
export default defineRule({
  code: "TC405",
  name: "tiny-product",
  severity: "info",
  fix: "none",
  messages: {
    tiny: "too small to use the GPU: {count} of {products} products, {percent} % of the predicted time; a larger batch is nearly free",
  },
  *check(context) {
    const tiny = context.products.filter(({ estimate }) => estimate.bound === "launch");
    const [first] = tiny;
    if (first === undefined) return;
    const share = context.share(tiny.reduce((total, { microseconds }) => total + microseconds, 0));
    if (share < worthSaying) return;
    const data = { count: tiny.length, products: context.products.length, percent: percentOf(share), share };
    yield { at: first, message: "tiny", data };
  },
});
