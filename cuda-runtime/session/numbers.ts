/** @file Bytes of a storage type as numbers. */
import type { StorageType } from "../ir/storage.ts";

type Decode = (bytes: Uint8Array) => ArrayLike<number>;

/** A copy of the bytes that an array of any type may lie on. */
const own = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer;

const decoders: Readonly<Record<StorageType, Decode>> = {
  float32: (bytes) => new Float32Array(own(bytes)),
  float16: (bytes) => halfValues(new Uint16Array(own(bytes))),
  bfloat16: (bytes) => bfloatValues(new Uint16Array(own(bytes))),
  float64: (bytes) => new Float64Array(own(bytes)),
  int8: (bytes) => new Int8Array(own(bytes)),
  uint8: (bytes) => bytes,
  int16: (bytes) => new Int16Array(own(bytes)),
  uint16: (bytes) => new Uint16Array(own(bytes)),
  int32: (bytes) => new Int32Array(own(bytes)),
  uint32: (bytes) => new Uint32Array(own(bytes)),
  int64: (bytes) => Float64Array.from(new BigInt64Array(own(bytes)), Number),
  uint64: (bytes) => Float64Array.from(new BigUint64Array(own(bytes)), Number),
  bool: (bytes) => bytes,
  int4: (bytes) => new Int8Array(own(bytes)),
  uint4: (bytes) => bytes,
  int2: (bytes) => new Int8Array(own(bytes)),
  uint2: (bytes) => bytes,
  float8e4m3fn: (bytes) => bytes,
  float8e4m3fnuz: (bytes) => bytes,
  float8e5m2: (bytes) => bytes,
  float8e5m2fnuz: (bytes) => bytes,
  float8e8m0: (bytes) => bytes,
  float4e2m1: (bytes) => bytes,
};

/** Elements in the order of memory; 64-bit integers rounded to the nearest double. */
export function decodeValues(type: StorageType, bytes: Uint8Array): Float64Array {
  return new Float64Array(decoders[type](bytes));
}

function bfloatValues(halves: Uint16Array): Float32Array {
  const bits = new Uint32Array(halves.length);
  for (let index = 0; index < halves.length; index++) bits[index] = (halves[index] ?? 0) << 16;
  return new Float32Array(bits.buffer);
}

function halfValues(halves: Uint16Array): Float32Array {
  const values = new Float32Array(halves.length);
  for (let index = 0; index < halves.length; index++) values[index] = halfValue(halves[index] ?? 0);
  return values;
}

function halfValue(bits: number): number {
  const sign = (bits & 0x8000) === 0 ? 1 : -1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25));
}
