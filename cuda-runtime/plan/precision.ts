/** @file In which type each value of a model is stored. */

import type { DType } from "../../src/ir/dtype.ts";
import type { Node } from "../../src/ir/model.ts";
import { isSquare, traitsOf } from "../../src/ops/ask.ts";
import { isFloatStorage, isStorageType, type StorageType } from "../ir/storage.ts";
import { elementCount } from "../ir/view.ts";

/** `model`: as the model says. The others say what float32, float16 and bfloat16 of the model become. */
export type Precision = "model" | "fp32" | "tf32" | "fp16" | "bf16";

const floats: Readonly<Record<Exclude<Precision, "model">, StorageType>> = {
  fp32: "float32",
  tf32: "float32",
  fp16: "float16",
  bf16: "bfloat16",
};

/**
 * Whether products of dequantized codes multiply the codes: halves stand for the floats of a file, and a code is no float. FP32 and
 * TF32 ask for numbers to compare with, so there codes become floats first.
 */
export function keepsCodes(precision: Precision): boolean {
  return precision === "model" || precision === "fp16" || precision === "bf16";
}

/** What decides how a value is stored. */
export interface StoredValue {
  readonly dtype: DType | undefined;
  readonly shape: readonly number[] | undefined;
  /** A tensor of the file. */
  readonly isWeight: boolean;
  readonly producer: Node | undefined;
}

/** How a value is stored; undefined where the GPU has no such type. */
export function storageOf(value: StoredValue, precision: Precision): StorageType | undefined {
  const { dtype, producer } = value;
  if (!isStorageType(dtype)) return undefined;
  if (!isFloatStorage(dtype) || precision === "model") return dtype;
  const type = floats[precision];
  if (type === "float32" || isSmall(value)) return "float32";
  if (producer === undefined) return type;
  return traitsOf(producer)?.half.isWide === true || isSquare(producer) ? "float32" : type;
}

/**
 * Single numbers (scales, steps of time) and weights of one axis (scales and biases, which kernels take in float32)
 * cost nothing in float32, and much depends on them.
 */
function isSmall({ dtype, shape, isWeight }: StoredValue): boolean {
  if (shape === undefined) return false;
  return elementCount(shape) === 1 || (isWeight && shape.length === 1 && dtype === "float32");
}
