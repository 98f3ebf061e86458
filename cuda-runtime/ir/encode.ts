/** @file Numbers as the bytes of a storage type. */
import { bfloatBits, halfBits } from "../../src/ir/half.ts";
import type { StorageType } from "./storage.ts";

type Values = ArrayLike<number>;
type Encode = (values: Values) => ArrayBufferView;

const integer = (value: number) => BigInt(Math.trunc(value));
const one = (value: number): number => (value === 0 ? 0 : 1);

/** Floats that registers hold as their codes. */
const codes: Encode = (values) => new Uint8Array(values);

const encoders: Readonly<Record<StorageType, Encode>> = {
  float32: (values) => new Float32Array(values),
  float16: (values) => mapped(values, new Uint16Array(values.length), halfBits),
  bfloat16: (values) => mapped(values, new Uint16Array(values.length), bfloatBits),
  float64: (values) => new Float64Array(values),
  int8: (values) => new Int8Array(values),
  uint8: (values) => new Uint8Array(values),
  int16: (values) => new Int16Array(values),
  uint16: (values) => new Uint16Array(values),
  int32: (values) => new Int32Array(values),
  uint32: (values) => new Uint32Array(values),
  int64: (values) => mapped(values, new BigInt64Array(values.length), integer),
  uint64: (values) => mapped(values, new BigUint64Array(values.length), integer),
  bool: (values) => mapped(values, new Uint8Array(values.length), one),
  int4: (values) => new Int8Array(values),
  uint4: (values) => new Uint8Array(values),
  int2: (values) => new Int8Array(values),
  uint2: (values) => new Uint8Array(values),
  float8e4m3fn: codes,
  float8e4m3fnuz: codes,
  float8e5m2: codes,
  float8e5m2fnuz: codes,
  float8e8m0: codes,
  float4e2m1: codes,
};

export function encodeValues(type: StorageType, values: Values): Uint8Array {
  const { buffer, byteOffset, byteLength } = encoders[type](values);
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** By index: `from` of a typed array would go through an iterator and a list. */
function mapped<Item, To extends ArrayBufferView & { [index: number]: Item }>(
  values: Values,
  to: To,
  map: (value: number) => Item,
): To {
  for (let index = 0; index < values.length; index++) to[index] = map(values[index] ?? Number.NaN);
  return to;
}
