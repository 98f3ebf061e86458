/** @file Element types of ONNX tensors, by the names the IR uses, with their wire codes and widths. */

import { maxOf } from "./lists.ts";

/** `bits` is the stored width of one element; strings have none. Source: onnx.proto, TensorProto.DataType. */
interface DTypeRow {
  readonly code: number;
  readonly bits: number;
  readonly kind: "float" | "int" | "uint" | "bool" | "string" | "complex";
}

export const dtypes = {
  float32: { code: 1, bits: 32, kind: "float" },
  uint8: { code: 2, bits: 8, kind: "uint" },
  int8: { code: 3, bits: 8, kind: "int" },
  uint16: { code: 4, bits: 16, kind: "uint" },
  int16: { code: 5, bits: 16, kind: "int" },
  int32: { code: 6, bits: 32, kind: "int" },
  int64: { code: 7, bits: 64, kind: "int" },
  string: { code: 8, bits: 0, kind: "string" },
  bool: { code: 9, bits: 8, kind: "bool" },
  float16: { code: 10, bits: 16, kind: "float" },
  float64: { code: 11, bits: 64, kind: "float" },
  uint32: { code: 12, bits: 32, kind: "uint" },
  uint64: { code: 13, bits: 64, kind: "uint" },
  complex64: { code: 14, bits: 64, kind: "complex" },
  complex128: { code: 15, bits: 128, kind: "complex" },
  bfloat16: { code: 16, bits: 16, kind: "float" },
  float8e4m3fn: { code: 17, bits: 8, kind: "float" },
  float8e4m3fnuz: { code: 18, bits: 8, kind: "float" },
  float8e5m2: { code: 19, bits: 8, kind: "float" },
  float8e5m2fnuz: { code: 20, bits: 8, kind: "float" },
  uint4: { code: 21, bits: 4, kind: "uint" },
  int4: { code: 22, bits: 4, kind: "int" },
  float4e2m1: { code: 23, bits: 4, kind: "float" },
  float8e8m0: { code: 24, bits: 8, kind: "float" },
  uint2: { code: 25, bits: 2, kind: "uint" },
  int2: { code: 26, bits: 2, kind: "int" },
} as const satisfies Record<string, DTypeRow>;

export type DType = keyof typeof dtypes;

const byCode = new Map<number, DType>(
  (Object.keys(dtypes) as DType[]).map((name) => [dtypes[name].code, name]),
);

/** Codes from 1 to here are all taken. */
export const newestDtypeCode = maxOf([...byCode.keys()]);

/** The element type of a wire code; `undefined` for 0 and for codes newer than this table. */
export function dtypeOfCode(code: number): DType | undefined {
  return byCode.get(code);
}

/** Bytes that `elements` packed elements of `dtype` occupy in raw form. */
export function bytesOf(dtype: DType, elements: number): number {
  return Math.ceil((dtypes[dtype].bits * elements) / 8);
}

export function isFloat(dtype: DType | undefined): boolean {
  return dtype !== undefined && dtypes[dtype].kind === "float";
}

/** Whether values of this type may be folded as whole numbers (shapes, indices, conditions). */
export function isIntegral(dtype: DType | undefined): boolean {
  if (dtype === undefined) return false;
  const { kind } = dtypes[dtype];
  return kind === "int" || kind === "uint" || kind === "bool";
}
