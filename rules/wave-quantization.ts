import {
  type CostedProduct,
  type LintContext,
  type ProductWork,
  type Saving,
  scale,
} from "../src/lint/context.ts";
import { percentOf } from "../src/lint/formats.ts";
import { samplesIn } from "../src/lint/free-batch.ts";
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
 * Rows of a product are samples × positions. Positions are the data's, so that what is named is a whole number of samples, the model's
 * batch, or the columns, which are the network's own (N, or filters). A model of one sample has no smaller batch.
 *
 * ## Example
 * ```onnx
 * y = MatMul(x, w)    # batch 18 × 128 positions, 2304 columns, on 132 SMs: 324 tiles of 128×128, 2.5 waves
 * ```
 *
 * ## Use instead
 * ```onnx
 * y = MatMul(x, w)    # batch 14 × 128 positions: 126 tiles of 128×256, one wave
 * ```
 * `--dim batch=N` tries a batch. Products without weights (queries by keys) are left alone: their sizes are positions and depths of heads.
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
    wave: "{tiles} tiles of {tile} on {sms} multiprocessors: the last wave fills {percent} % of the GPU; {axis} {fits} instead of {size} does without it",
  },
  *check(context) {
    const { sms } = context.target.gpu;
    const samples = samplesIn(context);
    for (const product of context.products) {
      const grid = gridOf(product.sizes);
      if (grid === undefined || product.estimate.bound !== "tensor-core" || !hasWeights(product)) continue;
      const waves = wavesOf(grid, sms);
      const { full, lastFill } = waves;
      if (full < 1 || full > fewWaves || lastFill === 0 || lastFill >= mostIdle) continue;
      const smaller = withoutPartialWave(product.sizes, waves, samples);
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
function withoutPartialWave(
  work: ProductWork<number>,
  waves: Waves,
  samples: number | undefined,
): Smaller | undefined {
  return [...fewerColumns(work, waves), ...fewerSamples(work, waves, samples)]
    .filter(({ size, fits }) => fits < size && fits >= size * nearEnough)
    .sort((a, b) => b.fits / b.size - a.fits / a.size)[0];
}

function fewerColumns(work: ProductWork<number>, { fittingColumns: fits }: Waves): Smaller[] {
  if (work.kind === "gemm") return [{ axis: "N", size: work.n, fits, work: { ...work, n: fits } }];
  if (work.kind !== "conv") return [];
  return [{ axis: "filters", size: work.filters, fits, work: { ...work, filters: fits } }];
}

/** Rows come in as many as a sample has: what a reader can change is the batch. */
function fewerSamples(
  work: ProductWork<number>,
  { fittingRows }: Waves,
  samples: number | undefined,
): Smaller[] {
  const rows = gridOf(work)?.rows ?? 0;
  if (samples === undefined || rows % samples !== 0) return [];
  const fits = Math.floor(fittingRows / (rows / samples));
  const left = (rows / samples) * fits;
  const smaller = { axis: "batch", size: samples, fits };
  if (work.kind === "gemm") {
    const together = work.sharedB ? { batch: 1 } : {};
    return [{ ...smaller, work: { ...work, ...together, m: left } }];
  }
  if (work.kind !== "conv") return [];
  const images = left / volume(work.output);
  return Number.isInteger(images) ? [{ ...smaller, work: { ...work, batch: images } }] : [];
}
