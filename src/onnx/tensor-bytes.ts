/** @file All elements of a stored tensor as raw little-endian bytes, read as they are asked for. */
import { bytesOf, type DType, dtypes, isFloat } from "../ir/dtype.ts";
import { InputError } from "../ir/errors.ts";
import type { TensorRef } from "../ir/model.ts";
import type { TensorBytes } from "../ir/patch.ts";
import { type ByteSource, readRange } from "../wire/source.ts";
import type { DataFiles } from "./data-files.ts";
import { readElements, readTypedBytes } from "./elements.ts";

/** Transforms read a few elements at a time: the file is read in windows of this size. */
const windowBytes = 1 << 20;

/** A range of a source, read through a window. */
class RangeBytes implements TensorBytes {
  readonly size: number;
  readonly #source: ByteSource;
  readonly #offset: number;
  #window: Uint8Array = new Uint8Array(0);
  #windowStart = 0;

  constructor(source: ByteSource, offset: number, size: number) {
    this.#source = source;
    this.#offset = offset;
    this.size = size;
  }

  readInto(offset: number, target: Uint8Array): void {
    // Nothing of it is left for a window.
    if (target.length >= windowBytes || target.length === this.size) {
      this.#source.readInto(this.#offset + offset, target);
      return;
    }
    const from = offset - this.#windowStart;
    if (from < 0 || from + target.length > this.#window.length) this.#fill(offset);
    const start = offset - this.#windowStart;
    target.set(this.#window.subarray(start, start + target.length));
  }

  #fill(offset: number): void {
    this.#windowStart = offset;
    this.#window = readRange(this.#source, this.#offset + offset, Math.min(windowBytes, this.size - offset));
  }
}

/** Encodes numbers of a typed field as raw bytes; the caller's encoder knows the types. */
export type EncodeNumbers = (dtype: NonNullable<TensorRef["dtype"]>, values: readonly number[]) => Uint8Array;

/** Throws InputError `weights-missing` where the elements are in a file that is not there. */
export function tensorBytes(
  source: ByteSource,
  files: DataFiles,
  tensor: TensorRef,
  encode: EncodeNumbers,
): TensorBytes {
  const { dtype } = tensor;
  if (dtype === undefined || dtypes[dtype].bits < 8)
    throw refusal(source, tensor, "unsupported-tensor", `has type ${dtype ?? tensor.dtypeCode}`);
  return storedBytes(source, files, tensor, dtype, encode);
}

/** The same with a byte for each element of a type that shares bytes: low bits first, the sign spread. */
export function elementBytes(
  source: ByteSource,
  files: DataFiles,
  tensor: TensorRef,
  encode: EncodeNumbers,
): TensorBytes {
  const { dtype, dims } = tensor;
  if (dtype === undefined || !isSubByte(dtype)) return tensorBytes(source, files, tensor, encode);
  const packed = storedBytes(source, files, tensor, dtype, encode);
  const { bits, kind } = dtypes[dtype];
  const each = 8 / bits;
  const spread = kind === "int" ? 32 - bits : 0;
  const mask = (1 << bits) - 1;
  return {
    size: dims.reduce((total, dim) => total * dim, 1),
    readInto(offset, target) {
      const first = Math.floor(offset / each);
      const bytes = new Uint8Array(Math.ceil((offset + target.length) / each) - first);
      packed.readInto(first, bytes);
      for (let at = 0; at < target.length; at++) {
        const index = offset + at;
        const value = ((bytes[Math.floor(index / each) - first] ?? 0) >> (bits * (index % each))) & mask;
        target[at] = (value << spread) >> spread;
      }
    },
  };
}

function isSubByte(dtype: DType): boolean {
  const { bits } = dtypes[dtype];
  return bits > 0 && bits < 8;
}

function refusal(source: ByteSource, { name }: TensorRef, code: string, what: string): InputError {
  return new InputError(code, `${source.name}: tensor "${name}" ${what}`);
}

function storedBytes(
  source: ByteSource,
  files: DataFiles,
  tensor: TensorRef,
  dtype: DType,
  encode: EncodeNumbers,
): TensorBytes {
  const { data, dims } = tensor;
  const size = bytesOf(
    dtype,
    dims.reduce((total, dim) => total * dim, 1),
  );
  if (data.kind === "raw") return new RangeBytes(source, data.span.offset, data.span.length);
  if (data.kind === "external") {
    const file = files.at(data.location);
    if (file === undefined)
      throw refusal(source, tensor, "weights-missing", `is in "${data.location}", which is not there`);
    return new RangeBytes(file, data.offset, size);
  }
  const bytes = typedBytes(source, files, tensor, dtype, size, encode);
  return {
    size: bytes.length,
    readInto: (offset, target) => target.set(bytes.subarray(offset, offset + target.length)),
  };
}

function typedBytes(
  source: ByteSource,
  files: DataFiles,
  tensor: TensorRef,
  dtype: DType,
  size: number,
  encode: EncodeNumbers,
): Uint8Array {
  // Of small floats the field holds codes.
  if (dtypes[dtype].bits <= 8 && (isFloat(dtype) || isSubByte(dtype)))
    return readTypedBytes(source, tensor, size);
  const values = readElements(source, files, tensor, Number.MAX_SAFE_INTEGER);
  if (values === undefined) throw refusal(source, tensor, "unsupported-tensor", "cannot be read as numbers");
  return encode(dtype, values);
}
