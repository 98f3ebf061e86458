/** @file How zeros are appended to a value in an opset: with Pad where that takes the type, else by joining them to it. */
import type { DType } from "../../ir/dtype.ts";

/**
 * First opset whose Pad takes the type. Source: ONNX operator changelog; 16-bit integers, which it lists since 11, are
 * left out, as ONNX Runtime has no Pad for them.
 */
const padSince: Partial<Record<DType, number>> = {
  float16: 2,
  float32: 2,
  float64: 2,
  bfloat16: 13,
  int8: 11,
  int32: 11,
  int64: 11,
  uint8: 11,
  uint32: 11,
  uint64: 11,
  bool: 13,
};

/** Expand, of which the zeros are made, takes all types. */
const expandSince = 8;
/** Types that have a zero and that Expand takes, where Pad does not. */
const joined: ReadonlySet<DType> = new Set([
  ...(["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"] as const),
]);

export type ZeroForm = "pad" | "join";

/** Undefined where the opset has no operators for it. */
export function zeroForm(dtype: DType | undefined, opset: number): ZeroForm | undefined {
  const since = dtype === undefined ? undefined : padSince[dtype];
  if (since !== undefined && opset >= since) return "pad";
  return dtype !== undefined && joined.has(dtype) && opset >= expandSince ? "join" : undefined;
}
