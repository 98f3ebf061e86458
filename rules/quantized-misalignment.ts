import type { ConvWork, CostedProduct, GemmWork, LintContext } from "../src/lint/context.ts";
import { formatNames, isQuantized } from "../src/lint/formats.ts";
import { isFirstLayer, ProductIndex } from "../src/lint/graph.ts";
import { type Axis, bestPadding, describeOff, describePadding } from "../src/lint/padding.ts";
import { isOff } from "../src/lint/padding-sizes.ts";
import { defineRule } from "../src/lint/rule.ts";
import { isNarrowStem } from "../src/lint/stem.ts";

/**
 * ## What it does
 * Finds 8-bit products (QLinearConv, QLinearMatMul, ConvInteger, MatMulInteger, and, on targets that multiply codes of INT8 or FP8, float
 * products between DequantizeLinear and QuantizeLinear: TC205) whose channels, K or N are off a multiple of 16. Nothing is found on TensorRT, which pads by itself.
 *
 * ## Why is this bad?
 * Sixteen 8-bit numbers fill one 16-byte load, as eight halves do. A width that is fine in FP16 (24, 40, 72) may thus be
 * off after quantization: TMA and 16-byte copies take rows that begin on 16 bytes, so that the bundled runtime copies an operand of another K
 * before it multiplies (and results of any N it stores as they are, so that there N is not asked about), and cuBLASLt documents FP8 for such rows alone. What an odd width costs 8-bit kernels is priced as what rows on as few bytes cost those of FP16, which was measured;
 * of INT8 and FP8 only aligned products were (`bench/results/int8.md`). TensorRT keeps INT8 activations in vectors of 32 channels and pads to them inside,
 * whatever the file has: other sizes gain nothing there.
 *
 * ## Example
 * ```onnx
 * y = QLinearConv(x, …, w, …)   # x: uint8 [32, 72, 28, 28], w: int8 [120, 72, 3, 3]
 * ```
 *
 * ## Use instead
 * ```onnx
 * y = QLinearConv(x, …, w, …)   # x: uint8 [32, 80, 28, 28], w: int8 [128, 80, 3, 3], weights 0 = their zero point
 * ```
 *
 * ## Fix safety
 * No fix. A padded lane has to be a zero for what reads it, and a lane of codes is one only where it holds the zero point: of weights,
 * which may be another a channel, and of activations, where QuantizeLinear rounds whatever the lane holds. Scales and zero points by
 * channel are as long as the axis, and would grow with it. Padding says of an operator how a lane of zeros passes through it; codes need
 * that of a lane of any number, for each operator between two products. Pad the network before it is quantized: `--fix` on the float
 * model, then quantize what it wrote.
 *
 * ## References
 * - [TensorRT developer guide, data formats](https://docs.nvidia.com/deeplearning/tensorrt/latest/)
 */
export default defineRule({
  code: "TC204",
  name: "quantized-misalignment",
  severity: "warn",
  fix: "none",
  messages: {
    conv: "{channels} → {filters} channels in {format}, off the multiple of {multiple}; pad {change}",
    gemm: "M×N×K = {m}×{n}×{k} in {format}, off the multiple of {multiple}; pad {change}",
    off: "off the multiple of {multiple} in {format}; pad {change}",
  },
  *check(context) {
    const index = ProductIndex.of(context.products);
    for (const product of context.products) {
      const work = product.sizes;
      if (!isQuantized(work.dtype)) continue;
      const multiple = context.alignment(work.dtype);
      const format = formatNames[context.computeType(work.dtype)];
      if (work.kind === "conv" && work.groups === 1) {
        const isStem = isNarrowStem(work) && isFirstLayer(product, index);
        const lanes = counted(isStem ? [] : [channels(work)], [filters(work)], context);
        const found = padded(product, work, lanes, context);
        if (found === undefined) continue;
        const { change, told } = found;
        const data = { channels: work.channels, filters: work.filters, format, multiple, change };
        yield { ...told, message: "conv", data };
      } else if (work.kind === "gemm" && product.weight !== undefined) {
        const found = padded(product, work, counted([rows(work)], [columns(work)], context), context);
        if (found === undefined) continue;
        const { change, told } = found;
        const data = { m: work.m, n: work.n, k: work.k, format, multiple, change };
        yield { ...told, message: "gemm", data };
      }
    }
  },
});

const channels = (work: ConvWork<number>) => ({ name: "channels", size: work.channels }) as const;
const filters = (work: ConvWork<number>) => ({ name: "filters", size: work.filters }) as const;
const rows = (work: GemmWork<number>) => ({ name: "k", size: work.k }) as const;
const columns = (work: GemmWork<number>) => ({ name: "n", size: work.n }) as const;

/** Of the axes that are summed over, and of those of results, the ones whose width the stack minds. */
function counted<A, B>(
  summed: readonly A[],
  ofResults: readonly B[],
  { target }: LintContext,
): readonly (A | B)[] {
  const { codesAxes } = target.stack;
  return [...(codesAxes.includes("k") ? summed : []), ...(codesAxes.includes("n") ? ofResults : [])];
}

const words = { channels: "inputs", filters: "outputs", n: "N", k: "K" };

/** What is padded, and what a finding of it is whatever the product. */
function padded<W extends ConvWork<number> | GemmWork<number>>(
  product: CostedProduct,
  work: W,
  axes: readonly Axis<W>[],
  context: LintContext,
) {
  const multiple = context.alignment(work.dtype);
  const off = axes.filter(({ size }) => isOff(size, multiple));
  const padding = off.length === 0 ? undefined : bestPadding(product, work, off, context);
  if (padding === undefined) return undefined;
  const told = {
    at: product,
    shared: "off",
    saves: padding.saves,
    alike: { change: describeOff(padding, off, words) },
  } as const;
  return { change: describePadding(padding, off, words), told };
}
