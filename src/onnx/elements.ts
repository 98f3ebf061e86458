/** @file Elements of small tensors as numbers: shapes, axes, scales, scalar constants. */
import type { Buffer } from "node:buffer";
import { type DType, dtypes } from "../ir/dtype.ts";
import type { TensorRef, TypedField, TypedSpan } from "../ir/model.ts";
import { isSmallFloat } from "../ir/small-float.ts";
import { Cursor, type NumberEncoding } from "../wire/cursor.ts";
import { WireError } from "../wire/error.ts";
import { type ByteSource, readRange } from "../wire/source.ts";
import type { DataFiles } from "./data-files.ts";

type Read = (bytes: Buffer, index: number) => number;

/** How one element of raw_data reads; types without an entry are not folded. */
const rawReaders: Partial<Record<DType, Read>> = {
  float32: (bytes, i) => bytes.readFloatLE(4 * i),
  float64: (bytes, i) => bytes.readDoubleLE(8 * i),
  float16: (bytes, i) => halfToNumber(bytes.readUInt16LE(2 * i)),
  bfloat16: (bytes, i) => bfloatToNumber(bytes.readUInt16LE(2 * i)),
  int8: (bytes, i) => bytes.readInt8(i),
  uint8: (bytes, i) => bytes.readUInt8(i),
  bool: (bytes, i) => (bytes.readUInt8(i) === 0 ? 0 : 1),
  int16: (bytes, i) => bytes.readInt16LE(2 * i),
  uint16: (bytes, i) => bytes.readUInt16LE(2 * i),
  int32: (bytes, i) => bytes.readInt32LE(4 * i),
  uint32: (bytes, i) => bytes.readUInt32LE(4 * i),
  int64: (bytes, i) => Number(bytes.readBigInt64LE(8 * i)),
  uint64: (bytes, i) => Number(bytes.readBigUInt64LE(8 * i)),
  int4: (bytes, i) => (nibble(bytes, i) << 28) >> 28,
  uint4: (bytes, i) => nibble(bytes, i),
};

function nibble(bytes: Buffer, index: number): number {
  return (bytes.readUInt8(index >> 1) >> (4 * (index & 1))) & 15;
}

/** Encoding of one element of a typed field, which fixes how its bytes are walked. */
const encodings: Record<TypedField, NumberEncoding | undefined> = {
  float: "fixed32",
  double: "fixed64",
  int32: "varint",
  int64: "varint",
  uint64: "varint",
  string: undefined,
};

/** See `ModelReader.elements`. */
export function readElements(
  source: ByteSource,
  files: DataFiles,
  tensor: TensorRef,
  limit: number,
): readonly number[] | undefined {
  const { dtype, dims, data } = tensor;
  const count = dims.reduce((total, dim) => total * dim, 1);
  // What a typed field holds of these is their codes.
  if (dtype === undefined || count > limit || isSmallFloat(dtype) || dtype === "float8e8m0") return undefined;
  if (count === 0) return [];
  if (data.kind === "typed") return readTyped(source, tensor, dtype, count);
  const read = rawReaders[dtype];
  if (read === undefined) return undefined;
  if (data.kind === "raw")
    return decodeRaw(readRange(source, data.span.offset, data.span.length), read, count);
  const file = data.kind === "external" ? files.at(data.location) : undefined;
  if (data.kind !== "external" || file === undefined || data.length === undefined) return undefined;
  return decodeRaw(readRange(file, data.offset, data.length), read, count);
}

/** Weights are read by the million: without a call for each. */
function floatsOf(bytes: Buffer, count: number): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const values = new Array<number>(count);
  for (let index = 0; index < count; index++) values[index] = view.getFloat32(4 * index, true);
  return values;
}

function decodeRaw(bytes: Buffer, read: Read, count: number): number[] {
  if (read === rawReaders.float32) return floatsOf(bytes, count);
  const values: number[] = [];
  for (let index = 0; index < count; index++) values.push(read(bytes, index));
  return values;
}

function readTyped(source: ByteSource, tensor: TensorRef, dtype: DType, count: number): number[] | undefined {
  const { data } = tensor;
  if (data.kind !== "typed" || dtypes[dtype].bits < 8) return undefined;
  const encoding = encodings[data.field];
  if (encoding === undefined || dtypes[dtype].kind === "complex") return undefined;
  const values: number[] = [];
  for (const span of data.spans) walk(source, span, encoding, values);
  if (values.length !== count) {
    throw new WireError(
      "typed-data-length",
      `${source.name}: tensor "${tensor.name}": ${data.field}_data holds ${values.length} elements, expected ${count}`,
    );
  }
  if (dtype === "float16") return values.map(halfToNumber);
  return dtype === "bfloat16" ? values.map(bfloatToNumber) : values;
}

/** The bytes that the entries of a typed field hold, one each: of types of 8 bits, and of those that share a byte. */
export function readTypedBytes(source: ByteSource, tensor: TensorRef, bytes: number): Uint8Array {
  const { data } = tensor;
  const encoding = data.kind === "typed" ? encodings[data.field] : undefined;
  const values: number[] = [];
  if (data.kind === "typed" && encoding !== undefined)
    for (const span of data.spans) walk(source, span, encoding, values);
  if (values.length !== bytes) {
    throw new WireError(
      "typed-data-length",
      `${source.name}: tensor "${tensor.name}": holds ${values.length} bytes, expected ${bytes}`,
    );
  }
  return Uint8Array.from(values);
}

const unpackedTagBytes = 1;

function walk(source: ByteSource, span: TypedSpan, encoding: NumberEncoding, values: number[]): void {
  if (!span.packed) {
    // The span begins behind the first tag and runs to the end of the last element.
    const cursor = new Cursor(source, span.offset - unpackedTagBytes, span.length + unpackedTagBytes);
    while (cursor.next()) cursor.repeated(encoding, (value) => values.push(value));
    return;
  }
  Cursor.packed(source, span.offset, span.length, encoding, (value) => values.push(value));
}

/** IEEE 754 binary16. */
export function halfToNumber(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

const scratch = new DataView(new ArrayBuffer(4));

/** The upper half of an IEEE 754 binary32. */
export function bfloatToNumber(bits: number): number {
  scratch.setUint32(0, (bits & 0xffff) * 2 ** 16);
  return scratch.getFloat32(0);
}
