import type { AttentionWork, CostedProduct } from "../src/lint/context.ts";
import { defineRule } from "../src/lint/rule.ts";

/** A quarter above a step (72 and 80 over 64) a smaller head_dim is near; further up the lanes are mostly used. */
const nearStep = 1.25;
/** What a head is computed as is so much larger, or little is wasted. */
const farStep = 1.25;

/**
 * ## What it does
 * Finds attention whose head_dim is at most a quarter above a size that fused kernels are specialized for (64, 128,
 * 192), and says what the step costs. Other sizes between two steps are named once, with nothing to gain from padding
 * them.
 *
 * ## Why is this bad?
 * A fused kernel pads head_dim to the next size it is specialized for: 72 costs what 128 costs. Padding gains nothing
 * there; another split of the same width into heads does.
 *
 * Measured on an H200 with cuDNN 9.19 (FP16, sequence of 2048): head_dim 64 takes 152 µs, 72 214 µs, 80 207 µs, 128
 * 219 µs; 136 takes 325 µs and 256 403 µs. Below the first step there is nothing to gain: 40, 48 and 64 take 159, 152
 * and 152 µs.
 *
 * ## Example
 * ```python
 * width, heads = 1152, 16    # head_dim 72, computed as 128
 * ```
 *
 * ## Use instead
 * ```python
 * width, heads = 1152, 18    # head_dim 64
 * width, heads = 1152, 9     # head_dim 128: as wide for half the heads
 * ```
 *
 * ## Fix safety
 * No fix: another head_dim is another network, to be trained as such. The saving is that of the same width in heads of the step
 * below or above, whichever takes less.
 *
 * ## References
 * - [FlashAttention, supported head dimensions](https://github.com/Dao-AILab/flash-attention)
 */
export default defineRule({
  code: "TC104",
  name: "wasteful-head-dim",
  severity: "info",
  fix: "none",
  messages: {
    free: "heads of {headDim} are computed as {step} by {count} kernels: nothing to mend, padding gains nothing",
    wasteful:
      "head_dim {headDim} is just above {below} and computed as {step}; the same width in heads of {better} is faster, in a network that is trained so",
  },
  *check(context) {
    const { headDimSteps, headDimMultiple } = context.target.stack.attention;
    const inside = new Map<number, { at: CostedProduct; headDim: number; step: number; count: number }>();
    for (const product of context.products) {
      const work = product.sizes;
      if (work.kind !== "attention" || work.headDim % headDimMultiple !== 0) continue;
      const { headDim, heads } = work;
      const step = headDimSteps.find((size) => size >= headDim);
      if (step === undefined || step === headDim) continue;
      const below = headDimSteps.findLast((size) => size < headDim);
      if (below === undefined || headDim > below * nearStep || step < headDim * farStep) {
        const before = inside.get(headDim);
        if (before === undefined) inside.set(headDim, { at: product, headDim, step, count: 1 });
        else before.count += 1;
        continue;
      }
      const [best] = [below, step]
        .map((size) => ({ size, saves: context.saving(product, inHeadsOf(size, work)) }))
        .sort((a, b) => b.saves.microseconds - a.saves.microseconds);
      if (best === undefined || !(best.saves.microseconds > 0)) continue;
      const { size: better, saves } = best;
      yield { at: product, message: "wasteful", data: { headDim, below, step, better, heads }, saves };
    }
    for (const { at, headDim, step, count } of inside.values()) {
      yield { at, message: "free", data: { headDim, step, count } };
    }
  },
});

/** As wide in all, so that as many bytes are read: of a token behind a long cache these are the time. */
function inHeadsOf(headDim: number, work: AttentionWork<number>): AttentionWork<number> {
  const split = (heads: number) => Math.max(1, Math.round((heads * work.headDim) / headDim));
  const valueHeadDim = Math.round((work.valueHeadDim * headDim) / work.headDim);
  return { ...work, headDim, valueHeadDim, heads: split(work.heads), kvHeads: split(work.kvHeads) };
}
