import type { GemmWork } from "../src/lint/context.ts";
import { formatNames, isQuantized } from "../src/lint/formats.ts";
import { type Axis, describeOff, describePadding, paddingOf } from "../src/lint/padding.ts";
import { defineRule } from "../src/lint/rule.ts";

/**
 * ## What it does
 * Finds products of activations with stored weights (MatMul, Gemm, Einsum) whose K or N is off the multiple that their
 * data type wants: 8 for FP16 and BF16, 4 for TF32, 16 for INT8. Vocabulary heads are such products.
 *
 * M, the rows (batch × sequence), counts only where A is stored transposed, because only there it is a contiguous axis.
 *
 * An axis of a single element is no width: a product of a matrix and a vector (one logit) runs other kernels, and who had eight logits would have to
 * cut them to the one.
 *
 * ## Why is this bad?
 * K and N are the contiguous axes of the operands and of the result. Rows that do not start on 16 bytes need narrower
 * loads, and the fast kernels refuse them.
 *
 * Measured on an H200 with cuDNN 9.19 and cuBLAS 13 (FP16): N from 50264 to 50257 takes 239 to 2196 µs (9.2 times), K
 * from 4104 to 4097 195 to 1425 µs (7.3 times). How odd the size is matters: a multiple of 4 costs 2.9 times, of 2
 * 3.0 times, an odd one 7 times and more. M between 4088 and 4104 makes no difference.
 *
 * MatMulNBits is priced as a product of plain operands, which is what was measured, as if many rows had its weights expanded; what its kernels for few
 * rows make of N was not, and there its saving is within the uncertainty. Its K stays: blocks lie along it.
 *
 * ## Example
 * ```onnx
 * logits = MatMul(hidden, w)   # hidden: [8, 512, 768], w: [768, 50257]
 * ```
 *
 * ## Use instead
 * ```onnx
 * logits = MatMul(hidden, w)   # w: [768, 50264], zeros in the new columns; slice the logits to 50257
 * ```
 *
 * ## Fix safety
 * Safe: added rows and columns of the weights are zero. Sums may be taken in another order, within rounding.
 *
 * ## References
 * - [Matrix multiplication guide, NVIDIA](https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/index.html)
 */
export default defineRule({
  code: "TC102",
  name: "misaligned-gemm",
  severity: "warn",
  fix: "safe",
  messages: {
    misaligned:
      "M×N×K = {m}×{n}×{k}, off the multiple of {multiple}: a slower {format} kernel runs; pad {change}",
    off: "off the multiple of {multiple}: a slower {format} kernel runs; pad {change}",
  },
  *check(context) {
    for (const product of context.products) {
      const work = product.sizes;
      if (work.kind !== "gemm" || product.weight === undefined || isQuantized(work.dtype)) continue;
      const multiple = context.alignment(work.dtype);
      const axes = contiguousAxes(work);
      const padding = paddingOf(product, work, axes, context);
      if (padding === undefined) continue;
      const { m, n, k } = work;
      yield {
        at: product,
        message: "misaligned",
        shared: "off",
        alike: { change: describeOff(padding, axes, { m: "M", n: "N", k: "K" }) },
        data: {
          m,
          n,
          k,
          paddedM: padding.sizes.get("m") ?? m,
          paddedN: padding.sizes.get("n") ?? n,
          paddedK: padding.sizes.get("k") ?? k,
          multiple,
          format: formatNames[context.computeType(work.dtype)],
          change: describePadding(padding, axes, { m: "M", n: "N", k: "K" }),
        },
        saves: padding.saves,
      };
    }
  },
});

function contiguousAxes({ m, n, k, transA }: GemmWork<number>): Axis<GemmWork<number>>[] {
  const axes: Axis<GemmWork<number>>[] = [
    { name: "n", size: n },
    { name: "k", size: k },
  ];
  return transA ? [...axes, { name: "m", size: m }] : axes;
}
