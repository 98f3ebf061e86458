/** @file Which products of dequantized codes a target multiplies as codes. */
import { computeDtype, isOfBytes } from "../cost/precision.ts";
import { architectureOf, capabilityOf } from "../hardware/architectures.ts";
import type { Float8Format } from "../hardware/stacks.ts";
import type { Target } from "../hardware/target.ts";
import type { DType } from "../ir/dtype.ts";
import type { ProductWork } from "../ops/work.ts";
import type { CostedProduct } from "./product.ts";

/** Why a target multiplies what codes stand for: its stack never does, its GPU lacks the format, its stack the format or convolutions of it. */
export type WhyFloats = "stack" | "gpu" | "format" | "convolution";

/** Undefined where it multiplies the codes. `codes` are a `Product`'s. */
export function whyFloats(
  codes: DType,
  { kind }: Pick<ProductWork, "kind">,
  { gpu, stack }: Pick<Target, "gpu" | "stack">,
): WhyFloats | undefined {
  const { quantized, float8 } = stack.fuses;
  if (codes === "int8") return quantized ? undefined : "stack";
  if (float8.formats.length === 0) return "stack";
  if (!architectureOf(capabilityOf(gpu)).features.float8) return "gpu";
  if (!float8.formats.includes(codes as Float8Format)) return "format";
  return kind === "conv" && !float8.convolutions ? "convolution" : undefined;
}

/** Whether it multiplies codes, or what they stand for, as the file has it. */
export function isOfCodes({ codes, sizes }: Pick<CostedProduct, "codes" | "sizes">): boolean {
  return codes !== undefined || isOfBytes(computeDtype(sizes.dtype, "as-is"));
}

/** Whether half precision leaves it as it is, whatever it is asked for: codes, and FP64. */
export function isLeftByHalf(product: CostedProduct): boolean {
  return isOfCodes(product) || computeDtype(product.sizes.dtype, "as-is") === "fp64";
}

/**
 * How far a file is quantized: `some` of its products are; `all`, and the target multiplies their codes; `as-floats`: all, and it multiplies what
 * codes stand for. Undefined where none is.
 */
export type Quantized = "some" | "all" | "as-floats";

export function quantizedIn(
  products: readonly CostedProduct[],
  target: Pick<Target, "gpu" | "stack">,
): Quantized | undefined {
  const ofCodes = products.filter(isOfCodes);
  if (ofCodes.length === 0) return undefined;
  if (ofCodes.length < products.length) return "some";
  const isOnFloats = ({ codes, sizes }: CostedProduct) =>
    codes !== undefined && whyFloats(codes, sizes, target) !== undefined;
  return products.some(isOnFloats) ? "as-floats" : "all";
}
