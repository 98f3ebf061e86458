/** @file Float tensors recomputed element by element, window by window, as they are asked for. */
import { bytesOf, type DType } from "../ir/dtype.ts";
import { invariant } from "../ir/errors.ts";
import { bfloatBitsOfFloat, halfBitsOfFloat } from "../ir/half.ts";
import type { TensorBytes } from "../ir/patch.ts";

export type FloatType = Extract<DType, "float16" | "bfloat16" | "float32" | "float64">;

export interface Transform {
  readonly from: FloatType;
  readonly to: FloatType;
  /** Changes elements in place; `first` is the row-major index of `values[0]`. Left out: only the type changes. */
  readonly map?: ((values: Float64Array, first: number) => void) | undefined;
}

/** One window is at most 512 KiB of doubles. */
const windowElements = 1 << 16;

/**
 * Elements of `source` read as doubles, mapped, and rounded once, to nearest even, to the type asked for
 * (beyond its range: infinity). Holds one window in memory. Throws what reading the source throws.
 */
export class TransformedTensor implements TensorBytes {
  readonly size: number;
  readonly #source: TensorBytes;
  readonly #transform: Transform;
  readonly #fromBytes: number;
  readonly #toBytes: number;
  readonly #count: number;

  constructor(source: TensorBytes, transform: Transform) {
    this.#source = source;
    this.#transform = transform;
    this.#fromBytes = bytesOf(transform.from, 1);
    this.#toBytes = bytesOf(transform.to, 1);
    this.#count = source.size / this.#fromBytes;
    invariant(Number.isInteger(this.#count), `${source.size} bytes are no tensor of ${transform.from}`);
    this.size = this.#count * this.#toBytes;
  }

  readInto(offset: number, target: Uint8Array): void {
    const width = this.#toBytes;
    invariant(
      offset >= 0 && offset + target.length <= this.size,
      "a transformed tensor is read past its end",
    );
    let done = 0;
    while (done < target.length) {
      const first = Math.floor((offset + done) / width);
      const from = offset + done - first * width;
      const wanted = Math.ceil((from + target.length - done) / width);
      const bytes = this.#window(first, Math.min(wanted, windowElements));
      const part = bytes.subarray(from, from + Math.min(bytes.length - from, target.length - done));
      target.set(part, done);
      done += part.length;
    }
  }

  #window(first: number, count: number): Uint8Array {
    const { from, to, map } = this.#transform;
    const stored = new Uint8Array(count * this.#fromBytes);
    this.#source.readInto(first * this.#fromBytes, stored);
    const narrow = map === undefined && from === "float32" ? narrowers[to] : undefined;
    if (narrow !== undefined) return narrowed(stored, narrow);
    const values = decoders[from](stored.buffer);
    map?.(values, first);
    return encoders[to](values);
  }
}

/** All elements of a small tensor. Throws what reading it throws. */
export function readFloats(bytes: TensorBytes, dtype: FloatType): Float64Array {
  const stored = new Uint8Array(bytes.size);
  bytes.readInto(0, stored);
  return decoders[dtype](stored.buffer);
}

/** Rounded once, to nearest even. */
export function encodeFloats(values: Float64Array, dtype: FloatType): Uint8Array {
  return encoders[dtype](values);
}

export function isFloatType(dtype: DType | undefined): dtype is FloatType {
  return dtype !== undefined && Object.hasOwn(decoders, dtype);
}

// Typed arrays are little-endian, as the file is, on every machine that Node has builds for, s390x and AIX aside.

const decoders: { readonly [T in FloatType]: (bytes: ArrayBuffer) => Float64Array } = {
  float64: (bytes) => new Float64Array(bytes),
  float32: (bytes) => Float64Array.from(new Float32Array(bytes)),
  float16: (bytes) => {
    halfValues ??= makeHalfValues();
    const table = halfValues;
    const halves = new Uint16Array(bytes);
    const values = new Float64Array(halves.length);
    for (let index = 0; index < halves.length; index++) values[index] = table[halves[index] ?? 0] ?? 0;
    return values;
  },
  bfloat16: (bytes) => {
    const halves = new Uint16Array(bytes);
    const bits = new Uint32Array(halves.length);
    for (let index = 0; index < halves.length; index++) bits[index] = (halves[index] ?? 0) << 16;
    return Float64Array.from(new Float32Array(bits.buffer));
  },
};

const encoders: { readonly [T in FloatType]: (values: Float64Array) => Uint8Array } = {
  float64: (values) => new Uint8Array(values.buffer, values.byteOffset, values.byteLength),
  float32: (values) => new Uint8Array(Float32Array.from(values).buffer),
  float16: (values) => encodeHalves(values, halfBitsOfFloat),
  bfloat16: (values) => encodeHalves(values, bfloatBitsOfFloat),
};

/** Whole models are converted this way: from bits to bits, without doubles in between. */
const narrowers: { readonly [T in FloatType]?: (bits: number) => number } = {
  float16: halfBitsOfFloat,
  bfloat16: bfloatBitsOfFloat,
};

function narrowed(stored: Uint8Array<ArrayBuffer>, roundBits: (bits: number) => number): Uint8Array {
  // As signed numbers: before its loop is compiled, the engine boxes numbers of 32 bits without a sign.
  const bits = new Int32Array(stored.buffer);
  const halves = new Uint16Array(bits.length);
  for (let index = 0; index < bits.length; index++) halves[index] = roundBits(bits[index] ?? 0);
  return new Uint8Array(halves.buffer);
}

function encodeHalves(values: Float64Array, roundBits: (bits: number) => number): Uint8Array {
  const floats = Float32Array.from(values);
  const bits = new Uint32Array(floats.buffer);
  const halves = new Uint16Array(values.length);
  for (let index = 0; index < values.length; index++) {
    const value = values[index] ?? 0;
    const float = floats[index] ?? 0;
    const exact = bits[index] ?? 0;
    halves[index] = roundBits(float === value ? exact : oddBits(exact, float, value));
  }
  return new Uint8Array(halves.buffer);
}

/**
 * Bits of a binary32 next to a double, chosen so that rounding them again rounds the double once: toward zero, with
 * the last bit set (rounding to odd).
 */
function oddBits(bits: number, float: number, value: number): number {
  if (Number.isNaN(value)) return bits;
  return (Math.abs(float) > Math.abs(value) ? bits - 1 : bits) | 1;
}

/** The value of each of the 65,536 halves. */
let halfValues: Float32Array | undefined;

function makeHalfValues(): Float32Array {
  const values = new Float32Array(1 << 16);
  for (let bits = 0; bits < values.length; bits++) {
    const sign = bits & 0x8000 ? -1 : 1;
    const exponent = (bits >> 10) & 0x1f;
    const fraction = bits & 0x3ff;
    if (exponent === 0) values[bits] = sign * fraction * 2 ** -24;
    else if (exponent < 31) values[bits] = sign * (1024 + fraction) * 2 ** (exponent - 25);
    else values[bits] = fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  }
  return values;
}
