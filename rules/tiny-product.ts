import { type CostedProduct, type LintContext, productsInFile } from "../src/lint/context.ts";
import { batched, describeSizes } from "../src/lint/doubled-batch.ts";
import { duration, percentOf } from "../src/lint/formats.ts";
import { batchOf } from "../src/lint/free-batch.ts";
import { labelOf } from "../src/lint/graph.ts";
import { perWork } from "../src/lint/per-work.ts";
import { defineRule } from "../src/lint/rule.ts";
import { gridOf, wavesOf } from "../src/lint/waves.ts";

/** Where less than half of the time is in such products, something else decides what the model takes. */
const worthSaying = 0.5;
/** Twice the work for a quarter more time: most of the GPU had nothing to do. */
const nearlyFree = 1.25;

/**
 * ## What it does
 * Says where at least half of a model's predicted time is in products so small that twice the batch is predicted to take less than a
 * quarter longer, because of launches and of latency: too few tiles for the GPU's SMs. Once per model, at the product that takes
 * longest; where the batch is 1, or the file leaves it open.
 *
 * Products whose time is that of reading weights or activations are not counted, though more rows may be free there, too: they keep
 * the memory busy, and smaller weights would help them.
 *
 * Where the graph carries a batch of twice the samples, the whole model is priced at it, passes over memory included; and the
 * figure is said where it saves time in each sample beyond what the prediction may be off.
 *
 * All times are those of kernels behind one another, as the replay of a CUDA graph runs them: that is what was measured. A stack that
 * launches kernels one by one adds what its CPU takes to launch each of the kernels that are counted here, where that is longer than the
 * kernel. No figure is given for it: none was measured for any stack.
 *
 * ## Why is this bad?
 * Launching a kernel and filling its pipeline take the same time however few rows there are. A product of few rows has tiles for a
 * few of the SMs, and padding, layout and data type change little there. More work a launch does: a larger batch, longer
 * sequences, products fused horizontally (TC402). And launches that wait for nobody: a CUDA graph, which ONNX Runtime captures with
 * the option `enable_cuda_graph` of its CUDA provider, TensorRT's `trtexec` with `--useCudaGraph`, and PyTorch with `mode="reduce-overhead"`.
 *
 * Measured on an H200 (cuBLAS 13, FP16): 512×512 weights take 3.2 µs with 1 row, 3.1 with 128 and 4.3 with 1024. 4096×25088 weights
 * take 50 µs with 1 row and 54 with 64, but that is 4.1 TB/s: bound by memory. ResNet-50 takes 1,047 µs for one image and 3,661 for 32
 * (PyTorch 2.11, FP16, NCHW, replayed from a CUDA graph).
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
 * `--dim batch=64` shows what another batch brings where the model leaves it open; `--fix --batch dynamic` opens one that the file fixes.
 *
 * ## References
 * - [Matrix multiplication guide, NVIDIA](https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html)
 */
export default defineRule({
  code: "TC405",
  name: "tiny-product",
  severity: "info",
  fix: "none",
  saves: "nothing",
  about: "model",
  messages: {
    tiny: "too small to use the GPU: {percent} % of the predicted time is in {count} of {products} products bound by {bound}; twice the batch is nearly free for them ({kernels} kernels, as a CUDA graph runs them: without gaps)",
    measured:
      "too small to use the GPU: {percent} % of the measured time is in {count} of {products} products bound by {bound}; twice the batch is predicted to be nearly free for them",
    free: "too small to use the GPU: {percent} % of the predicted time is in {count} of {products} products bound by {bound}; twice the batch takes no longer than this one, {once} ({kernels} kernels, as a CUDA graph runs them: without gaps)",
    priced:
      "too small to use the GPU: {percent} % of the predicted time is in {count} of {products} products bound by {bound}; twice the batch takes {twice} instead of {once}, {less} % less a sample ({kernels} kernels, as a CUDA graph runs them: without gaps)",
  },
  *check(context) {
    const batch = batchOf(context.facts, context.bindings);
    if (batch !== 1 && batch !== "open") return;
    const twiceOf = perWork(
      (sizes: CostedProduct["sizes"]) => context.estimate(batched(sizes, 2)).microseconds,
    );
    const { sms } = context.target.gpu;
    const products = context.pricedProducts;
    const tiny = products.filter(
      (product) =>
        waitsFor(product, sms) !== undefined &&
        twiceOf(product.sizes) < product.estimate.microseconds * nearlyFree,
    );
    const [first] = tiny;
    if (first === undefined) return;
    const share = context.share(tiny.reduce((total, { microseconds }) => total + microseconds, 0));
    if (share < worthSaying) return;
    const at = tiny.reduce((a, b) => (b.microseconds > a.microseconds ? b : a), first);
    const largest = `${labelOf(at.node)} (${describeSizes(at.sizes)})`;
    const launches = productsInFile(tiny.filter((product) => waitsFor(product, sms) === "launch"));
    const count = productsInFile(tiny);
    const data = {
      count,
      products: productsInFile(products),
      percent: percentOf(share),
      share,
      bound: boundsOf(launches, count),
      launches,
      batch,
      largest,
      kernels: context.timeline.kernels,
    };
    if (context.isMeasured) {
      yield { at, message: "measured", kind: "tiny", data };
      return;
    }
    const twice = twiceTheBatch(context);
    if (twice === undefined) yield { at, message: "tiny", data };
    else if (twice.less === undefined) yield { at, message: "free", data: { ...data, once: twice.once } };
    else yield { at, message: "priced", data: { ...data, ...twice } };
  },
});

/**
 * What the whole model takes for two samples; undefined where it cannot be told, or saves nothing for sure. A prediction of less than for
 * one is of a kernel that suits better, which one could have had: nobody would believe the figure.
 */
function twiceTheBatch(context: LintContext) {
  const twice = context.atLargerBatch(2);
  if (twice === undefined) return undefined;
  const { microseconds } = context.timeline;
  if (twice.added.high >= microseconds) return undefined;
  const [once, taken] = [duration(microseconds), duration(twice.microseconds)];
  if (twice.microseconds <= microseconds || taken === once) return { once };
  const less = percentOf(1 - twice.microseconds / (2 * microseconds));
  return { once, twice: taken, less };
}

/** Undefined for what is bound by memory, or has tiles for every SM: there the rows that are free come of something else. */
function waitsFor(
  { sizes, estimate: { bound } }: CostedProduct,
  sms: number,
): "launch" | "latency" | undefined {
  if (bound === "launch") return "launch";
  if (bound === "dram" || bound === "l2") return undefined;
  const grid = gridOf(sizes);
  return grid === undefined || wavesOf(grid, sms).full === 0 ? "latency" : undefined;
}

/** Of launches and of the latency of a few tiles: what there is. */
function boundsOf(launches: number, count: number): string {
  if (launches === count) return "launches";
  return launches === 0 ? "the latency of few tiles" : `launches (${launches}) and the latency of few tiles`;
}
