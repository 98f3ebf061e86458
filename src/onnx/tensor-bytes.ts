/** @file All elements of a stored tensor as raw little-endian bytes, read as they are asked for. */
import { bytesOf, dtypes } from "../ir/dtype.ts";
import { InputError } from "../ir/errors.ts";
import type { TensorRef } from "../ir/model.ts";
import type { TensorBytes } from "../ir/patch.ts";
import { type ByteSource, readRange } from "../wire/source.ts";
import type { DataFiles } from "./data-files.ts";
import { readElements } from "./elements.ts";

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
    if (target.length >= windowBytes) {
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
  const { data, dtype, dims } = tensor;
  const refuse = (code: string, what: string) =>
    new InputError(code, `${source.name}: tensor "${tensor.name}" ${what}`);
  if (dtype === undefined || dtypes[dtype].bits < 8)
    throw refuse("unsupported-tensor", `has type ${dtype ?? tensor.dtypeCode}`);
  const size = bytesOf(
    dtype,
    dims.reduce((total, dim) => total * dim, 1),
  );
  if (data.kind === "raw") return new RangeBytes(source, data.span.offset, data.span.length);
  if (data.kind === "external") {
    const file = files.at(data.location);
    if (file === undefined) throw refuse("weights-missing", `is in "${data.location}", which is not there`);
    return new RangeBytes(file, data.offset, size);
  }
  const values = readElements(source, files, tensor, Number.MAX_SAFE_INTEGER);
  if (values === undefined) throw refuse("unsupported-tensor", "cannot be read as numbers");
  const bytes = encode(dtype, values);
  return {
    size: bytes.length,
    readInto: (offset, target) => target.set(bytes.subarray(offset, offset + target.length)),
  };
}
