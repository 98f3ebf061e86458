/** @file Which format a model's type is computed in at a target's precision, and how wide it is in memory. */

import type { Stack } from "../hardware/stacks.ts";
import { bytesOfCompute, type ComputeType, type Precision, type Target } from "../hardware/target.ts";
import { type DType, dtypes, isFloat } from "../ir/dtype.ts";

/** Types without a rate of their own take that of the nearest that has one. */
const ownFormat: Readonly<Record<DType, ComputeType>> = {
  float16: "fp16",
  bfloat16: "bf16",
  float32: "fp32",
  float64: "fp64",
  complex64: "fp32",
  complex128: "fp64",
  int8: "int8",
  uint8: "int8",
  int4: "int8",
  uint4: "int8",
  int2: "int8",
  uint2: "int8",
  float8e4m3fn: "fp8",
  float8e4m3fnuz: "fp8",
  float8e5m2: "fp8",
  float8e5m2fnuz: "fp8",
  float8e8m0: "fp8",
  float4e2m1: "fp8",
  int16: "fp32",
  uint16: "fp32",
  int32: "fp32",
  uint32: "fp32",
  int64: "fp32",
  uint64: "fp32",
  bool: "int8",
  string: "fp32",
};

/**
 * A precision replaces FP32 and half: whole numbers and one-byte types stay what they are, and so does FP64, which neither autocast of PyTorch nor any fix
 * makes anything else of.
 */
export function computeDtype(dtype: DType, precision: Precision): ComputeType {
  const own = ownFormat[dtype];
  return precision === "as-is" || !isFloat(dtype) || own === "fp64" || isOfBytes(own) ? own : precision;
}

/** Of a byte an operand: what a file was quantized to. */
export function isOfBytes(type: ComputeType): boolean {
  return bytesOfCompute(type) === 1;
}

/**
 * Whether no kernel was measured in it, on any machine: products in FP64, and all of 8 bits. What is not claimed of a GPU that nobody measured is not claimed
 * of these. A number is the width of a memory pass's elements.
 */
export function isUnmeasured(type: ComputeType | Precision | number): boolean {
  return typeof type === "string" && type !== "as-is" && (type === "fp64" || isOfBytes(type));
}

/** The same on a target: FP32 is multiplied in TF32 where the stack does that unasked, on a GPU that has it. */
export function computeTypeOn(
  dtype: DType,
  { gpu, stack, precision }: Target,
  what: keyof Stack["float32"] = "products",
): ComputeType {
  const type = computeDtype(dtype, precision);
  const isUnasked = type === "fp32" && precision === "as-is" && isFloat(dtype);
  return isUnasked && stack.float32[what] === "tf32" && gpu.tensorTflops.tf32 !== undefined ? "tf32" : type;
}

/** Bytes an element of `dtype` takes once the model runs at `precision`. */
export function bytesAt(dtype: DType, precision: Precision): number {
  if (!isFloat(dtype) || precision === "as-is") return dtypes[dtype].bits / 8;
  return bytesOfCompute(computeDtype(dtype, precision));
}
