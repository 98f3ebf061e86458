import { conversionsOf } from "../src/lint/conversions.ts";
import { percentOf } from "../src/lint/formats.ts";
import { defineRule } from "../src/lint/rule.ts";

/**
 * ## What it does
 * Finds products whose operands are both dequantized 8-bit codes, on a stack that does not multiply codes: the product runs on floats,
 * and each DequantizeLinear and QuantizeLinear is a kernel of its own. Once a model, at the first of them.
 *
 * ## Why is this bad?
 * Quantized for INT8 Tensor Cores, the model uses none of them, and passes over memory come on top. ONNX Runtime's CUDA provider fuses no such groups and has no QLinearConv, which then runs on the CPU;
 * TensorRT, which its TensorRT provider calls, and the bundled runtime multiply the codes. The saving is what the conversions take.
 *
 * What multiplying codes gains was measured for the bundled runtime on an H200: a product of 4096³ takes 96 µs in INT8, 106 in FP8 and
 * 208 in FP16, one of 128×768×768 3.0, 3.0 and 4.1 (`bench/results/int8.md`). Nothing was measured of ONNX Runtime or TensorRT.
 *
 * ## Example
 * ```onnx
 * y = QuantizeLinear(Conv(DequantizeLinear(x, …), DequantizeLinear(w, …)), …)    # --stack ort-cuda: an FP32 or FP16 convolution
 * ```
 *
 * ## Use instead
 * Run it where codes are multiplied (`--stack tensorrt` and `--stack tc-runtime` show what that takes), or deploy the file from before
 * quantization in half precision.
 *
 * ## Fix safety
 * No fix: without its conversions a model gives other numbers.
 *
 * ## References
 * - [Operators of ONNX Runtime's providers](https://github.com/microsoft/onnxruntime/blob/main/docs/OperatorKernels.md)
 * - [Quantized models on its CUDA provider](https://github.com/microsoft/onnxruntime/issues/24807)
 */
export default defineRule({
  code: "TC205",
  name: "quantized-in-float",
  severity: "warn",
  fix: "none",
  messages: {
    float:
      "{count} of {products} products are of dequantized codes, which {stack} multiplies as floats: {kernels} kernels only convert, {percent} % of the time",
  },
  *check(context) {
    const { fuses, id } = context.target.stack;
    if (fuses.quantized) return;
    const found = context.products.filter(({ isDequantized }) => isDequantized);
    const [first] = found;
    const { kernels, saves, covers } = conversionsOf(context);
    if (first === undefined || !(saves.microseconds > 0)) return;
    const percent = percentOf(saves.microseconds / context.timeline.microseconds);
    const data = { count: found.length, products: context.products.length, stack: id, kernels, percent };
    yield { at: first, message: "float", data, saves, covers };
  },
});
