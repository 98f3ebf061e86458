/** @file Small tensors that passes make: whole numbers, scalars. */
import { bytesOf, type DType } from "../ir/dtype.ts";
import type { TensorBytes, TensorSpec } from "../ir/patch.ts";

/** Bytes held in memory. */
export class MemoryBytes implements TensorBytes {
  readonly size: number;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.size = bytes.length;
  }

  readInto(offset: number, target: Uint8Array): void {
    target.set(this.#bytes.subarray(offset, offset + target.length));
  }
}

export function int64Tensor(
  values: readonly number[],
  dims: readonly number[] = [values.length],
): TensorSpec {
  return { dtype: "int64", dims, bytes: new MemoryBytes(encodeNumbers("int64", values)) };
}

type Write = (view: DataView, offset: number, value: number) => void;

const writers: Partial<Record<DType, Write>> = {
  float32: (view, offset, value) => view.setFloat32(offset, value, true),
  float64: (view, offset, value) => view.setFloat64(offset, value, true),
  float16: (view, offset, value) => view.setUint16(offset, halfBits(value), true),
  bfloat16: (view, offset, value) => view.setUint16(offset, bfloatBits(value), true),
  int8: (view, offset, value) => view.setInt8(offset, value),
  uint8: (view, offset, value) => view.setUint8(offset, value),
  bool: (view, offset, value) => view.setUint8(offset, value === 0 ? 0 : 1),
  int16: (view, offset, value) => view.setInt16(offset, value, true),
  uint16: (view, offset, value) => view.setUint16(offset, value, true),
  int32: (view, offset, value) => view.setInt32(offset, value, true),
  uint32: (view, offset, value) => view.setUint32(offset, value, true),
  int64: (view, offset, value) => view.setBigInt64(offset, BigInt(value), true),
  uint64: (view, offset, value) => view.setBigUint64(offset, BigInt(value), true),
};

/** Whether `encodeNumbers` knows the type. */
export function canEncode(dtype: DType): boolean {
  return writers[dtype] !== undefined;
}

/** Numbers as packed little-endian elements of `dtype`. Throws for types without a plain encoding. */
export function encodeNumbers(dtype: DType, values: readonly number[]): Uint8Array {
  const write = writers[dtype];
  if (write === undefined) throw new Error(`tc-lint bug: numbers cannot be written as ${dtype}`);
  const width = bytesOf(dtype, 1);
  const view = new DataView(new ArrayBuffer(values.length * width));
  for (const [index, value] of values.entries()) write(view, index * width, value);
  return new Uint8Array(view.buffer);
}

const scratch = new DataView(new ArrayBuffer(4));

/** IEEE 754 binary16 bits of a number, rounded to nearest even; beyond the range, infinity. */
export function halfBits(value: number): number {
  scratch.setFloat32(0, value);
  return halfBitsOfFloat(scratch.getUint32(0));
}

/** The same from the bits of a binary32. */
export function halfBitsOfFloat(bits: number): number {
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fff_ffff;
  if (magnitude > 0x7f80_0000) return sign | 0x7e00;
  if (magnitude >= 0x4780_0000) return sign | 0x7c00;
  if (magnitude < 0x3300_0000) return sign;
  const exponent = (magnitude >>> 23) - 112;
  const shift = exponent <= 0 ? 14 - exponent : 13;
  const fraction = (magnitude & 0x007f_ffff) | (exponent <= 0 ? 0x0080_0000 : 0);
  const kept = fraction >>> shift;
  const dropped = fraction & ((1 << shift) - 1);
  const half = 1 << (shift - 1);
  const up = dropped > half || (dropped === half && (kept & 1) === 1) ? 1 : 0;
  // A carry out of the fraction is the next exponent, up to infinity.
  return sign | ((exponent <= 0 ? 0 : exponent << 10) + kept + up);
}

/** bfloat16 bits of a number, rounded to nearest even. */
export function bfloatBits(value: number): number {
  scratch.setFloat32(0, value);
  return bfloatBitsOfFloat(scratch.getUint32(0));
}

export function bfloatBitsOfFloat(bits: number): number {
  if ((bits & 0x7fff_ffff) > 0x7f80_0000) return (bits >>> 16) | 0x0040;
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
}
