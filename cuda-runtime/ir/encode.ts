/** @file Numbers as the bytes of a storage type. */
import { bfloatBits, halfBits } from "../../src/ir/half.ts";
import type { StorageType } from "./storage.ts";

type Values = ArrayLike<number>;
type Encode = (values: Values) => ArrayBufferView;

const integer = (value: number) => BigInt(Math.trunc(value));
const one = (value: number): number => (value === 0 ? 0 : 1);

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
