/** @file Which register type an element is computed in. */
import type { ScalarType } from "./expr.ts";
import type { StorageType } from "./storage.ts";

const scalars: Readonly<Record<StorageType, ScalarType>> = {
  float32: "f32",
  float16: "f32",
  bfloat16: "f32",
  float64: "f64",
  int8: "i32",
  uint8: "u32",
  int16: "i32",
  uint16: "u32",
  int32: "i32",
  uint32: "u32",
  int64: "i64",
  uint64: "u64",
  bool: "bool",
  int4: "i32",
  uint4: "u32",
  int2: "i32",
  uint2: "u32",
  float8e4m3fn: "u32",
  float8e4m3fnuz: "u32",
  float8e5m2: "u32",
  float8e5m2fnuz: "u32",
  float8e8m0: "u32",
  float4e2m1: "u32",
};

export function scalarOf(type: StorageType): ScalarType {
  return scalars[type];
}
