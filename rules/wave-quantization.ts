import {
  type CostedProduct,
  type LintContext,
  type ProductWork,
  type Saving,
  scale,
} from "../src/lint/context.ts";
import { percentOf } from "../src/lint/formats.ts";
import { defineRule } from "../src/lint/rule.ts";
import { gridOf, volume, type Waves, wavesOf } from "../src/lint/waves.ts";

/** "Most" of the SMs. */
const mostIdle = 0.5;
/** With more full waves than this the last one is a small part of the time. */
const fewWaves = 4;
/** Cutting off more than this is not a matter of rounding. */
const nearEnough = 0.75;

/**
 * ## What it does
 * Finds products bound by Tensor Cores whose tiles fill one to four waves (a tile on every SM at once) and then leave
 * most of the GPU idle in a last, partial wave, where a size a little smaller does without it.
 *
 * ## Why is this bad?
 * A product is cut into tiles, and each streaming multiprocessor (SM) computes one at a time. Work for 2.4 waves takes
 * three. Libraries choose among tile sizes, and split K, to soften this; the finding is for the large tile that comes
 * out best, and its saving is what the product takes beyond the smaller size's time for as much work.
 *
 * ## Example
 * ```onnx
 * y = MatMul(x, w)    # 2304 rows × 2304 columns on 132 SMs: 324 tiles of 128×128, 2.5 waves
 * ```
 *
 * ## Use instead
 * ```onnx
 * y = MatMul(x, w)    # 1792 rows: 126 tiles of 128×256, one wave
 * ```
 * The batch is the easiest to change: `--dim batch=N` tries one. Products without weights (queries by keys) are left alone: how many
 * positions there are, the data say.
 *
 * ## Fix safety
 * No fix: sizes below the present ones are another batch or another network.
 *
 * ## References
 * - [Wave quantization, matrix multiplication guide, NVIDIA](https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html)
 */
export default defineRule({
  code: "TC404",
  name: "wave-quantization",
  severity: "info",
  fix: "none",
  messages: {
    wave: "{tiles} tiles of {tile} on {sms} multiprocessors: the last wave fills {percent} % of the GPU; {axis} {fits} instead of {size} ends with a full one",
  },
  *check(context) {
    const { sms } = context.target.gpu;
    for (const product of context.products) {
      const grid = gridOf(product.sizes);
      if (grid === undefined || product.estimate.bound !== "tensor-core" || !hasWeights(product)) continue;
      const waves = wavesOf(grid, sms);
      const { full, lastFill } = waves;
      if (full < 1 || full > fewWaves || lastFill === 0 || lastFill >= mostIdle) continue;
      const smaller = withoutPartialWave(product.sizes, waves);
      if (smaller === undefined) continue;
      const saves = lostTime(product, smaller, context);
      if (!(saves.microseconds > 0)) continue;
      const { axis, size, fits } = smaller;
      const { tile, tiles } = waves;
      yield {
        at: product,
        message: "wave",
        data: { tile, tiles, sms, percent: percentOf(lastFill), axis, size, fits },
        saves,
      };
    }
  },
});

/** Between two computed operands sizes are positions of a sequence and depths of heads: none that somebody would round. */
function hasWeights({ sizes, weight }: CostedProduct): boolean {
  return sizes.kind === "conv" || weight !== undefined;
}

/** All runs: beyond the smaller size's time for as much work. */
function lostTime(product: CostedProduct, { work, size, fits }: Smaller, context: LintContext): Saving {
  const lessWork = context.estimate(work).microseconds * (size / fits - 1);
  const { microseconds, low, high } = context.savingOf([product.sizes], [work]);
  const once = { microseconds: microseconds - lessWork, low: low - lessWork, high: high - lessWork };
  return scale(once, product.runs * context.measure([product]));
}

interface Smaller {
  readonly axis: string;
  readonly size: number;
  readonly fits: number;
  readonly work: ProductWork<number>;
}

/** Of the axes that can give up the partial wave, the one that loses least. */
function withoutPartialWave(work: ProductWork<number>, waves: Waves): Smaller | undefined {
  return smallerSizes(work, waves)
    .filter(({ size, fits }) => fits < size && fits >= size * nearEnough)
    .sort((a, b) => b.fits / b.size - a.fits / a.size)[0];
}

function smallerSizes(work: ProductWork<number>, { fittingRows, fittingColumns }: Waves): Smaller[] {
  if (work.kind === "gemm") {
    const { m, n, batch, sharedB } = work;
    const rows = sharedB ? Math.floor(fittingRows / batch) : fittingRows;
    return [
      { axis: "M", size: m, fits: rows, work: { ...work, m: rows } },
      { axis: "N", size: n, fits: fittingColumns, work: { ...work, n: fittingColumns } },
    ];
  }
  if (work.kind !== "conv") return [];
  const images = Math.floor(fittingRows / volume(work.output));
  return [
    { axis: "batch", size: work.batch, fits: images, work: { ...work, batch: images } },
    { axis: "filters", size: work.filters, fits: fittingColumns, work: { ...work, filters: fittingColumns } },
  ];
}
