import type { CostedProduct } from "../src/lint/context.ts";
import { batched, describeSizes } from "../src/lint/doubled-batch.ts";
import { percentOf } from "../src/lint/formats.ts";
import { labelOf } from "../src/lint/graph.ts";
import { perWork } from "../src/lint/per-work.ts";
import { defineRule } from "../src/lint/rule.ts";

/** Below a twentieth of the model's time there is nothing in it to gain. */
const worthSaying = 0.05;
/** Twice the work for a quarter more time: most of the GPU had nothing to do. */
const nearlyFree = 1.25;

/**
 * ## What it does
 * Counts products so small that twice the batch is predicted to take less than a quarter longer, where they take at
 * least 5 % of the model's predicted time together. Once per model, at the one that takes longest.
 *
 * ## Why is this bad?
 * Launching a kernel, reading the weights and filling its pipeline take the same time however few rows there are: the
 * product is bound by latency. A product of few rows has tiles for a few of the SMs, and padding, layout and data type
 * change little there. More work a launch does: a larger batch, longer sequences, products fused horizontally (TC402).
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
 * No fix: the batch is the caller's to choose.
 *
 * ## Options
 * `--dim batch=64` shows what another batch brings where the model leaves it open.
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
    tiny: "too small to use the GPU: {count} of {products} products, {percent} % of the predicted time, the longest {largest}; twice the batch is nearly free",
  },
  *check(context) {
    const twiceOf = perWork(
      (sizes: CostedProduct["sizes"]) => context.estimate(batched(sizes, 2)).microseconds,
    );
    const tiny = context.products.filter(
      ({ sizes, estimate }) => twiceOf(sizes) < estimate.microseconds * nearlyFree,
    );
    const [first] = tiny;
    if (first === undefined) return;
    const share = context.share(tiny.reduce((total, { microseconds }) => total + microseconds, 0));
    if (share < worthSaying) return;
    const at = tiny.reduce((a, b) => (b.microseconds > a.microseconds ? b : a), first);
    const largest = `${labelOf(at.node)} (${describeSizes(at.sizes)})`;
    const data = {
      count: tiny.length,
      products: context.products.length,
      percent: percentOf(share),
      share,
      largest,
    };
    yield { at, message: "tiny", data };
  },
});
