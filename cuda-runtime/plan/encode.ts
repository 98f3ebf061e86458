/** @file Numbers as the bytes of a storage type. */
import { bfloatBits, halfBits } from "../../src/ir/half.ts";
import type { StorageType } from "./storage.ts";

type Encode = (values: readonly number[]) => ArrayBufferView;

const integer = (value: number) => BigInt(Math.trunc(value));

const encoders: Readonly<Record<StorageType, Encode>> = {
  float32: (values) => Float32Array.from(values),
  float16: (values) => Uint16Array.from(values, halfBits),
  bfloat16: (values) => Uint16Array.from(values, bfloatBits),
  float64: (values) => Float64Array.from(values),
  int8: (values) => Int8Array.from(values),
  uint8: (values) => Uint8Array.from(values),
  int16: (values) => Int16Array.from(values),
  uint16: (values) => Uint16Array.from(values),
  int32: (values) => Int32Array.from(values),
  uint32: (values) => Uint32Array.from(values),
  int64: (values) => BigInt64Array.from(values, integer),
  uint64: (values) => BigUint64Array.from(values, integer),
  bool: (values) => Uint8Array.from(values, (value) => (value === 0 ? 0 : 1)),
};

export function encodeValues(type: StorageType, values: readonly number[]): Uint8Array {
  const { buffer, byteOffset, byteLength } = encoders[type](values);
  return new Uint8Array(buffer, byteOffset, byteLength);
}
