/** @file Number formats as rules speak of them. */
import { computeDtype, isOfBytes } from "../cost/precision.ts";
import type { ComputeType } from "../hardware/target.ts";
import { type DType, isFloat } from "../ir/dtype.ts";

export { bytesOf, dtypes, isFloat } from "../ir/dtype.ts";
export { duration } from "../ir/format.ts";

export const formatNames: Readonly<Record<ComputeType, string>> = {
  fp16: "FP16",
  bf16: "BF16",
  tf32: "TF32",
  int8: "INT8",
  fp8: "FP8",
  fp32: "FP32",
  fp64: "FP64",
};

/** Whether a product multiplies 8-bit (or narrower) numbers, whatever precision the target asks of the others. */
export function isQuantized(dtype: DType): boolean {
  return isOfBytes(computeDtype(dtype, "as-is"));
}

/** Computed in FP32 as the model stands. */
export function isFullPrecision(dtype: DType): boolean {
  return isFloat(dtype) && computeDtype(dtype, "as-is") === "fp32";
}

export function isHalf(dtype: DType | undefined): boolean {
  return dtype === "float16" || dtype === "bfloat16";
}

/** Largest finite half. */
export const halfMax = 65504;
/** Smallest half with all its bits: 2⁻¹⁴. Below it precision is lost bit by bit. */
export const halfMinNormal = 2 ** -14;
/** At and below half of the smallest half, 2⁻²⁵, a number rounds to zero. */
export const halfFlush = 2 ** -25;

/** 0.123 as 12.3: three digits are more than a prediction has. */
export function percentOf(share: number): number {
  return Number((share * 100).toPrecision(3));
}
