/** @file Small tensors that passes make: whole numbers, scalars. */
import { bytesOf, type DType } from "../ir/dtype.ts";
import { bfloatBits, halfBits } from "../ir/half.ts";
import type { TensorBytes, TensorSpec } from "../ir/patch.ts";

export { bfloatBits, bfloatBitsOfFloat, halfBits, halfBitsOfFloat } from "../ir/half.ts";

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
