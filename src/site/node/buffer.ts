/** @file What the engine uses of node:buffer, in a browser. Whatever else of it is called is not there: no empty result stands for it. */
import { NotInBrowserError } from "./missing.ts";

const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const lenient = new TextDecoder("utf-8", { ignoreBOM: true });
const encoder = new TextEncoder();

export class Buffer extends Uint8Array {
  static alloc(size: number): Buffer {
    return new Buffer(size);
  }

  /** Memory of a browser is always cleared. */
  static allocUnsafe(size: number): Buffer {
    return new Buffer(size);
  }

  static allocUnsafeSlow(size: number): Buffer {
    return new Buffer(size);
  }

  static byteLength(text: string): number {
    return encoder.encode(text).length;
  }

  static concat(parts: readonly Uint8Array[], length = totalOf(parts)): Buffer {
    const whole = new Buffer(length);
    let offset = 0;
    for (const part of parts) {
      whole.set(part, offset);
      offset += part.length;
    }
    return whole;
  }

  /** Copies, as Node's does of lists and texts. */
  static override from(
    source: string | ArrayLike<unknown> | Iterable<unknown>,
    encoding: unknown = "utf8",
  ): Buffer {
    if (typeof source !== "string") return new Buffer(Array.from(source as Iterable<number>));
    if (encoding === "utf8") return new Buffer(encoder.encode(source));
    if (encoding === "base64")
      return new Buffer(Array.from(atob(source), (character) => character.charCodeAt(0)));
    throw new NotInBrowserError(`Buffer.from of ${String(encoding)}`);
  }

  equals(other: Uint8Array): boolean {
    return this.length === other.length && this.every((byte, index) => byte === other[index]);
  }

  override toString(encoding = "utf8", start = 0, end = this.length): string {
    const bytes = this.subarray(start, end);
    if (encoding === "utf8") return lenient.decode(bytes);
    if (encoding === "latin1") return latin1(bytes);
    throw new NotInBrowserError(`Buffer.toString of ${encoding}`);
  }

  readUInt8(offset: number): number {
    return this.#view.getUint8(offset);
  }
  readInt8(offset: number): number {
    return this.#view.getInt8(offset);
  }
  readUInt16LE(offset: number): number {
    return this.#view.getUint16(offset, true);
  }
  readInt16LE(offset: number): number {
    return this.#view.getInt16(offset, true);
  }
  readUInt32LE(offset: number): number {
    return this.#view.getUint32(offset, true);
  }
  readInt32LE(offset: number): number {
    return this.#view.getInt32(offset, true);
  }
  readBigUInt64LE(offset: number): bigint {
    return this.#view.getBigUint64(offset, true);
  }
  readBigInt64LE(offset: number): bigint {
    return this.#view.getBigInt64(offset, true);
  }
  readFloatLE(offset: number): number {
    return this.#view.getFloat32(offset, true);
  }
  readDoubleLE(offset: number): number {
    return this.#view.getFloat64(offset, true);
  }

  #known: DataView | undefined;

  get #view(): DataView {
    this.#known ??= new DataView(this.buffer, this.byteOffset, this.length);
    return this.#known;
  }
}

/** What is UTF-8: no name is shown with replacement characters in it. */
export function isUtf8(bytes: Uint8Array): boolean {
  try {
    strict.decode(bytes);
    return true;
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error;
  }
}

function totalOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((total, { length }) => total + length, 0);
}

function latin1(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}
