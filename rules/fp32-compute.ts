import { productsInFile } from "../src/lint/context.ts";
import { isFullPrecision, percentOf } from "../src/lint/formats.ts";
import { defineRule } from "../src/lint/rule.ts";

/**
 * ## What it does
 * Counts the products whose operands are FP32 in the file, and predicts what the model gains in half precision. Once
 * per model.
 *
 * ## Why is this bad?
 * Tensor Cores do not multiply FP32. A stack that runs such a model as it stands uses the CUDA cores, or rounds to
 * TF32 at half the rate of FP16, and moves twice the bytes either way. Measured on an H200 with cuDNN 9.19: 760
 * TFLOP/s in FP16 and 404 in TF32 for an 8192³ product. TensorRT 11 builds strongly typed engines: there the type in
 * the file is the type that runs.
 *
 * The saving is the predicted time of the whole model as it stands less
 * its time in half precision, and the percentage in the message is of the former. A file in half has Casts, and may keep nodes
 * in FP32: the account's step "FP32 kept, Casts" has what these take, and the finding is listed where the file is sure to gain.
 *
 * ## Example
 * ```onnx
 * y = MatMul(x, w)   # x, w: float
 * ```
 *
 * ## Use instead
 * ```onnx
 * y = MatMul(x, w)   # x, w: float16, or bfloat16 where the range of half is too small
 * ```
 *
 * ## Fix safety
 * Unsafe: half precision rounds. Islands that would overflow stay FP32 (TC203 finds them), and the result is compared
 * with the original before it is written.
 *
 * ## Options
 * `--precision` tells what the rest of the report assumes. Who names `as-is` (the types that the file has), `tf32` or `fp32` has decided on half
 * precision: it is neither a finding nor a step then.
 *
 * ## References
 * - [Mixed precision training guide, NVIDIA](https://docs.nvidia.com/deeplearning/performance/mixed-precision-training/index.html)
 */
export default defineRule({
  code: "TC201",
  name: "fp32-compute",
  severity: "warn",
  fix: "unsafe",
  changes: "precision",
  about: "model",
  messages: {
    fp32: "FP32 in the file: {count} of {products} products; in {format} the model takes {percent} % less time",
  },
  *check(context) {
    if (!context.mayBecomeHalf) return;
    // Quantized products are FP32 where a stack multiplies no codes, which TC205 is about: half precision leaves them as they are.
    const found = context.products.filter(
      ({ sizes, codes }) => isFullPrecision(sizes.dtype) && codes === undefined,
    );
    const [first] = found;
    if (first === undefined) return;
    const { before, after } = context.half();
    const saves = context.halfSaving();
    if (!(saves.microseconds > 0)) return;
    const data = {
      count: productsInFile(found),
      products: productsInFile(context.products),
      format: after.target.precision === "bf16" ? "BF16" : "FP16",
    };
    const share = saves.microseconds / before.timeline.microseconds;
    yield { at: first, message: "fp32", data: { ...data, percent: percentOf(share) }, saves, share };
  },
});
