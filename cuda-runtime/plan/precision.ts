/** @file In which type each value of a model is stored. */

import type { DType } from "../../src/ir/dtype.ts";
import type { Node, Value } from "../../src/ir/model.ts";
import { operatorOf } from "../../src/ir/model.ts";
import { isFloatStorage, isStorageType, type StorageType } from "./storage.ts";

/** `model`: as the model says. The others say what float32, float16 and bfloat16 of the model become. */
export type Precision = "model" | "fp32" | "tf32" | "fp16" | "bf16";

const floats: Readonly<Record<Exclude<Precision, "model">, StorageType>> = {
  fp32: "float32",
  tf32: "float32",
  fp16: "float16",
  bf16: "bfloat16",
};

/**
 * Operators whose results leave the range of halves, or lose what matters of it, where their inputs do not: squares,
 * exponentials, sums over many elements, positions. They are stored in float32; chains compute in float32 anyway.
 */
const wideResults: ReadonlySet<string> = new Set([
  "CumSum",
  "Exp",
  "Log",
  "Pow",
  "Range",
  "Reciprocal",
  "ReduceL1",
  "ReduceL2",
  "ReduceLogSum",
  "ReduceLogSumExp",
  "ReduceProd",
  "ReduceSum",
  "ReduceSumSquare",
  "DynamicQuantizeLinear",
  "DequantizeLinear",
  "STFT",
  "DFT",
  "MelWeightMatrix",
]);

/** How a value of `dtype` with `count` elements is stored; undefined where the GPU has no such type. */
export function storageOf(
  dtype: DType | undefined,
  count: number | undefined,
  producer: Node | undefined,
  precision: Precision,
): StorageType | undefined {
  if (!isStorageType(dtype)) return undefined;
  if (!isFloatStorage(dtype) || precision === "model") return dtype;
  const type = floats[precision];
  // A scale or a step of time costs nothing in float32, and everything depends on it.
  if (count === 1 || type === "float32") return "float32";
  if (producer === undefined) return type;
  return wideResults.has(operatorOf(producer)) || isSquare(producer) ? "float32" : type;
}

/** x · x, as exporters write a square. */
function isSquare({ opType, inputs }: Node): boolean {
  return opType === "Mul" && inputs.length === 2 && inputs[0] === inputs[1];
}

/** For messages. */
export function describeValue(value: Value): string {
  return `"${value.name}"`;
}
