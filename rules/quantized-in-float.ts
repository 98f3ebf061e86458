import { type CostedProduct, type LintContext, productsInFile } from "../src/lint/context.ts";
import { type Conversions, conversionsOf, productsOnFloats } from "../src/lint/conversions.ts";
import { formatNames, percentOf } from "../src/lint/formats.ts";
import { defineRule } from "../src/lint/rule.ts";

/**
 * ## What it does
 * Finds products whose operands are both dequantized 8-bit codes, on a target that does not multiply such codes: the product runs on floats,
 * and DequantizeLinear and QuantizeLinear are kernels of their own where nothing takes them in. Once a model, at the first of them; of 8-bit floats once for each reason.
 *
 * | reason | where |
 * |---|---|
 * | the stack multiplies no codes | ONNX Runtime's CUDA provider, Inductor, a kernel a node |
 * | the GPU has no FP8 Tensor Cores | before compute capability 8.9 (`tc-lint gpus`: no rate for fp8) |
 * | the stack does not take the format | TensorRT: E5M2, its FP8 is E4M3 |
 * | the stack does not take the operator | the bundled runtime: convolutions of FP8 |
 *
 * ## Why is this bad?
 * Quantized for INT8 or FP8 Tensor Cores, the model uses none of them, and passes over memory come on top. ONNX Runtime's CUDA provider fuses no such groups and has no QLinearConv, which then runs on the CPU;
 * TensorRT, which its TensorRT provider calls, and the bundled runtime multiply the codes. The saving is what the conversions take, and none where other kernels take them in.
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
 * Run it where codes are multiplied (`--stack tensorrt` and `--stack tc-runtime` show what that takes; FP8 wants `--gpu l4`, `h100` or later),
 * quantize to what the target multiplies (INT8 before compute capability 8.9, E4M3 for TensorRT), or deploy the file from before quantization in half precision.
 *
 * ## Fix safety
 * No fix: without its conversions a model gives other numbers.
 *
 * ## References
 * - [Operators of ONNX Runtime's providers](https://github.com/microsoft/onnxruntime/blob/main/docs/OperatorKernels.md)
 * - [TensorRT: working with quantized types](https://docs.nvidia.com/deeplearning/tensorrt/latest/inference-library/work-with-quantized-types.html)
 * - [Quantized models on its CUDA provider](https://github.com/microsoft/onnxruntime/issues/24807)
 */
export default defineRule({
  code: "TC205",
  name: "quantized-in-float",
  severity: "warn",
  fix: "none",
  messages: {
    stack:
      "{count} of {products} products are of dequantized {format} codes, which {stack} multiplies as floats: {kernels} kernels of conversions alone, {percent} % of the time",
    gpu: "{count} of {products} products are of dequantized FP8 codes, and {gpu} has no FP8 Tensor Cores: they run on floats{conversions}",
    format:
      "{count} of {products} products are of dequantized FP8 codes in {codes}, and {stack} multiplies {taken} alone: they run on floats{conversions}",
    convolution:
      "{count} of {products} products are convolutions of dequantized FP8 codes, of which {stack} multiplies matrices alone: they run on floats{conversions}",
  },
  *check(context) {
    const { products, target } = context;
    const { stack, gpu } = target;
    for (const [reason, found] of productsOnFloats(context)) {
      const [at] = found;
      const data = { count: productsInFile(found), products: productsInFile(products) };
      if (reason === "stack") {
        const { kernels, percent, saves, covers } = sharesOf(conversionsOf(context), context);
        if (!(saves.microseconds > 0)) continue;
        const format = formatsOf(found, context);
        yield {
          at,
          message: reason,
          data: { ...data, stack: stack.id, format, kernels, percent },
          saves,
          covers,
        };
        continue;
      }
      const { kernels, percent, saves, covers } = sharesOf(conversionsOf(context, found), context);
      const conversions =
        kernels === 0
          ? ""
          : `; ${kernels} ${kernels === 1 ? "kernel only converts" : "kernels only convert"}, ${percent} % of the time`;
      const codes = listed(found.map((product) => product.codes));
      const taken = listed(stack.fuses.float8.formats);
      const said = { ...data, conversions, gpu: gpu.name, stack: stack.id, codes, taken };
      yield { at, message: reason, data: said, ...(kernels > 0 && { saves, covers }) };
    }
  },
});

function sharesOf(conversions: Conversions, { timeline }: LintContext) {
  return { ...conversions, percent: percentOf(conversions.microseconds / timeline.microseconds) };
}

/** "E4M3 and E5M2": 8-bit floats as their formats are called, without what ONNX's types say of infinities. */
function listed(types: readonly (string | undefined)[]): string {
  const names = types.flatMap(
    (type) =>
      type
        ?.replace(/^float8/, "")
        .replace(/fn$/, "")
        .toUpperCase() ?? [],
  );
  return [...new Set(names)].sort().join(" and ");
}

/** "INT8", "FP8", or both. */
function formatsOf(found: readonly CostedProduct[], context: LintContext): string {
  const formats = found.flatMap(({ codes }) =>
    codes === undefined ? [] : formatNames[context.computeType(codes)],
  );
  return [...new Set(formats)].sort().reverse().join(" and ");
}
