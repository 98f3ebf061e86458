/** @file Element types as the GPU stores them, with the codes that the kernels know them by. */

/** `code` is `StorageCode` in kernels/common/storage.cuh; `ptx` the type of a load or store. */
interface StorageRow {
  readonly code: number;
  readonly bytes: number;
  readonly kind: "float" | "int" | "uint" | "bool" | "code";
  readonly ptx: string;
}

export const storageTypes = {
  float32: { code: 0, bytes: 4, kind: "float", ptx: "f32" },
  float16: { code: 1, bytes: 2, kind: "float", ptx: "b16" },
  bfloat16: { code: 2, bytes: 2, kind: "float", ptx: "b16" },
  float64: { code: 3, bytes: 8, kind: "float", ptx: "f64" },
  int8: { code: 4, bytes: 1, kind: "int", ptx: "s8" },
  uint8: { code: 5, bytes: 1, kind: "uint", ptx: "u8" },
  int16: { code: 6, bytes: 2, kind: "int", ptx: "s16" },
  uint16: { code: 7, bytes: 2, kind: "uint", ptx: "u16" },
  int32: { code: 8, bytes: 4, kind: "int", ptx: "s32" },
  uint32: { code: 9, bytes: 4, kind: "uint", ptx: "u32" },
  int64: { code: 10, bytes: 8, kind: "int", ptx: "s64" },
  uint64: { code: 11, bytes: 8, kind: "uint", ptx: "u64" },
  /** One byte, 0 or 1. */
  bool: { code: 12, bytes: 1, kind: "bool", ptx: "u8" },
  /** Below: a byte for each element, also of those that a file packs; floats as their codes, which kernels move alone. */
  int4: { code: 13, bytes: 1, kind: "int", ptx: "s8" },
  uint4: { code: 14, bytes: 1, kind: "uint", ptx: "u8" },
  int2: { code: 15, bytes: 1, kind: "int", ptx: "s8" },
  uint2: { code: 16, bytes: 1, kind: "uint", ptx: "u8" },
  float8e4m3fn: { code: 17, bytes: 1, kind: "code", ptx: "u8" },
  float8e4m3fnuz: { code: 18, bytes: 1, kind: "code", ptx: "u8" },
  float8e5m2: { code: 19, bytes: 1, kind: "code", ptx: "u8" },
  float8e5m2fnuz: { code: 20, bytes: 1, kind: "code", ptx: "u8" },
  float8e8m0: { code: 21, bytes: 1, kind: "code", ptx: "u8" },
  float4e2m1: { code: 22, bytes: 1, kind: "code", ptx: "u8" },
} as const satisfies Record<string, StorageRow>;

export type StorageType = keyof typeof storageTypes;
/** What Tensor Cores and attention take beside float32. */
export type HalfStorage = "float16" | "bfloat16";
export type FloatStorage = HalfStorage | "float32";

export function isStorageType(name: string | undefined): name is StorageType {
  return name !== undefined && Object.hasOwn(storageTypes, name);
}

export function bytesOfType(type: StorageType): number {
  return storageTypes[type].bytes;
}

/** Integers whose registers are wider than they are: results wrap. */
export type SmallInteger = "int8" | "uint8" | "int16" | "uint16" | "int4" | "uint4" | "int2" | "uint2";

export function isSmallInteger(type: StorageType): type is SmallInteger {
  const { kind, bytes } = storageTypes[type];
  return (kind === "int" || kind === "uint") && bytes < 4;
}

/** A float that arithmetic knows only by its code. */
export type CodeStorage = {
  [Type in StorageType]: (typeof storageTypes)[Type]["kind"] extends "code" ? Type : never;
}[StorageType];

export function isCodeStorage(type: StorageType): type is CodeStorage {
  return storageTypes[type].kind === "code";
}

export function isFloatStorage(type: StorageType): type is FloatStorage {
  return type === "float32" || type === "float16" || type === "bfloat16";
}

export function isHalfStorage(type: StorageType): type is HalfStorage {
  return type === "float16" || type === "bfloat16";
}
