/** @file Which products of dequantized codes a target multiplies as codes. */
import { architectureOf, capabilityOf } from "../hardware/architectures.ts";
import type { Float8Format } from "../hardware/stacks.ts";
import type { Target } from "../hardware/target.ts";
import type { DType } from "../ir/dtype.ts";
import type { ProductWork } from "../ops/work.ts";

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
