/**
 * @file Walks protobuf fields over a source without reading what it steps over.
 *
 * A window of bytes slides along: it grows while reading goes straight on, and starts small again after a jump over a
 * payload, so that a model's metadata between gigabytes of weights costs a few kilobytes a tensor.
 * Encoding: protobuf.dev/programming-guides/encoding.
 */
import { Buffer, isUtf8 } from "node:buffer";
import { WireError } from "./error.ts";
import type { ByteSource } from "./source.ts";

export const wireTypes = { varint: 0, fixed64: 1, bytes: 2, startGroup: 3, endGroup: 4, fixed32: 5 } as const;

/** How a number is encoded: int32, int64, uint64 and enums; float; double. */
export type NumberEncoding = "varint" | "fixed32" | "fixed64";

const smallWindowBytes = 4 << 10;
const largeWindowBytes = 1 << 20;
const maxGroupDepth = 100;
/** A tag holds 32 bits: longer encodings are refused, as protobuf's conformance tests ask. */
const maxTagBytes = 5;
/** Names and values that tc-lint reads are short; a longer text is an attack on memory. */
const maxTextBytes = 64 << 20;
const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });

export class Cursor {
  readonly source: ByteSource;
  /** Field number and wire type found by the last `next()`. */
  field = 0;
  wire = 0;
  /** Payload of a length-delimited field, or the bytes of a number. */
  start = 0;
  length = 0;
  /** Where the tag of the current field begins. */
  tagStart = 0;

  #position: number;
  #end: number;
  /** No byte behind this is read. */
  readonly #limit: number;
  #window: Buffer = Buffer.alloc(0);
  #windowStart = 0;
  /** How much of the window was read; behind it is what an earlier one left. */
  #filled = 0;
  #windowBytes = smallWindowBytes;
  #low = 0;
  #high = 0;

  constructor(source: ByteSource, offset = 0, length = source.size - offset) {
    this.source = source;
    this.#position = offset;
    this.#end = offset + length;
    this.#limit = Math.min(this.#end, source.size);
  }

  /** Moves to the next field of the current message; false at its end. The payload need not have been consumed. */
  next(): boolean {
    if (this.#position >= this.#end) return false;
    this.tagStart = this.#position;
    if (this.#nextShort()) return true;
    this.#readTag();
    if (this.#low < 8) throw this.error("bad-tag", "the field number is 0");
    this.field = this.#low >>> 3;
    this.wire = this.#low & 7;
    this.start = this.#position;
    this.#measure();
    return true;
  }

  /** Nearly every field has a tag of one byte, and a payload whose length is one byte: those are told without a call for each part. */
  #nextShort(): boolean {
    const at = this.#position - this.#windowStart;
    if (at < 0 || at + 2 > this.#filled) return false;
    const tag = this.#window[at] ?? 0;
    const length = this.#window[at + 1] ?? 0x80;
    const start = this.#position + 2;
    const isShort = (tag & 0x87) === wireTypes.bytes && tag >= 8 && length < 0x80;
    if (!isShort || start + length > this.#end) return false;
    this.field = tag >>> 3;
    this.wire = wireTypes.bytes;
    this.start = start;
    this.length = length;
    this.#position = start + length;
    return true;
  }

  /** Enters the current field as a message; hand the result to `leave` when its fields are done. */
  enter(): number {
    this.expect(wireTypes.bytes);
    const outer = this.#end;
    this.#position = this.start;
    this.#end = this.start + this.length;
    return outer;
  }

  leave(outer: number): void {
    this.#position = this.#end;
    this.#end = outer;
  }

  expect(wire: number): void {
    if (this.wire !== wire) {
      throw this.error("wire-type", `field ${this.field} has wire type ${this.wire}, expected ${wire}`);
    }
  }

  /** The field as a signed 64-bit integer. */
  bigint(): bigint {
    this.expect(wireTypes.varint);
    return BigInt.asIntN(64, (BigInt(this.#high) << 32n) | BigInt(this.#low));
  }

  /** The same as a number: exact up to 2^53, the nearest double beyond. */
  integer(): number {
    this.expect(wireTypes.varint);
    return signed64(this.#low, this.#high);
  }

  /** The same, exact. */
  exactInteger(): bigint {
    this.expect(wireTypes.varint);
    return BigInt.asIntN(64, (BigInt(this.#high >>> 0) << 32n) | BigInt(this.#low >>> 0));
  }

  /** An enumeration or int32. */
  int32(): number {
    this.expect(wireTypes.varint);
    return this.#low | 0;
  }

  float(): number {
    this.expect(wireTypes.fixed32);
    return this.#bytes(this.start, 4).readFloatLE(this.start - this.#windowStart);
  }

  /** The field as text. Throws `invalid-utf8`. */
  text(): string {
    this.expect(wireTypes.bytes);
    if (this.length > maxTextBytes) {
      throw this.error("text-too-long", `field ${this.field} is a text of ${this.length} bytes`);
    }
    const window = this.#bytes(this.start, this.length);
    const from = this.start - this.#windowStart;
    const to = from + this.length;
    const text = window.toString("utf8", from, to);
    // As many characters as bytes: all are ASCII, but for bytes that are no UTF-8 and were replaced.
    if (text.length === this.length && !text.includes("\ufffd")) return text;
    return this.#wideText(window.subarray(from, to));
  }

  /** The bytes of a length-delimited field, one character each: a key to tell equal payloads by. */
  key(): string {
    this.expect(wireTypes.bytes);
    const window = this.#bytes(this.start, this.length);
    const from = this.start - this.#windowStart;
    return window.toString("latin1", from, from + this.length);
  }

  /** The numbers of a repeated field, packed or one at a time, handed to `take`. */
  repeated(encoding: NumberEncoding, take: (value: number) => void): void {
    if (this.wire !== wireTypes.bytes) {
      take(this.#number(encoding));
      return;
    }
    const outer = this.enter();
    this.#takePacked(encoding, take);
    this.leave(outer);
  }

  /** The numbers of a packed field whose payload is [offset, offset + length). */
  static packed(
    source: ByteSource,
    offset: number,
    length: number,
    encoding: NumberEncoding,
    take: (value: number) => void,
  ): void {
    const cursor = new Cursor(source, offset, length);
    Object.assign(cursor, { start: offset, length });
    cursor.#takePacked(encoding, take);
  }

  #takePacked(encoding: NumberEncoding, take: (value: number) => void): void {
    const width = encoding === "fixed32" ? 4 : 8;
    if (encoding !== "varint" && this.length % width !== 0) {
      throw this.error(
        "bad-length",
        `packed field ${this.field} has ${this.length} bytes, not a multiple of ${width}`,
      );
    }
    while (this.#position < this.#end) {
      if (encoding === "varint") {
        this.#readVarint("packed integer");
        take(signed64(this.#low, this.#high));
      } else {
        const window = this.#bytes(this.#position, width);
        const at = this.#position - this.#windowStart;
        take(encoding === "fixed32" ? window.readFloatLE(at) : window.readDoubleLE(at));
        this.#position += width;
      }
    }
  }

  error(code: string, what: string): WireError {
    return new WireError(code, `${this.source.name}: byte ${this.tagStart}: ${what}`);
  }

  #number(encoding: NumberEncoding): number {
    if (encoding === "varint") return this.integer();
    if (encoding === "fixed32") return this.float();
    this.expect(wireTypes.fixed64);
    return this.#bytes(this.start, 8).readDoubleLE(this.start - this.#windowStart);
  }

  /** Finds the end of the current field and moves there. */
  #measure(): void {
    switch (this.wire) {
      case wireTypes.varint:
        this.#readVarint("integer");
        this.length = this.#position - this.start;
        return;
      case wireTypes.fixed64:
        this.length = 8;
        break;
      case wireTypes.fixed32:
        this.length = 4;
        break;
      case wireTypes.bytes:
        this.#readVarint("length");
        this.start = this.#position;
        this.length = unsigned64(this.#low, this.#high);
        break;
      case wireTypes.startGroup:
        this.#skipGroup();
        return;
      default:
        throw this.error("wire-type", `field ${this.field} has the impossible wire type ${this.wire}`);
    }
    if (this.length > this.#end - this.start) {
      const left = this.#end - this.start;
      const code = this.#end === this.source.size ? "truncated" : "bad-length";
      throw this.error(
        code,
        `field ${this.field} claims ${this.length} bytes, expected at most the ${left} that remain`,
      );
    }
    this.#position = this.start + this.length;
  }

  /** Groups are long deprecated and never part of ONNX; an unknown one is stepped over, without recursion. */
  #skipGroup(): void {
    const { field, tagStart } = this;
    const start = this.#position;
    const open = [field];
    while (open.length > 0) {
      if (this.#position >= this.#end) throw this.error("truncated", `group ${field} does not end`);
      const tagStart = this.#position;
      this.#readTag();
      const inner = this.#low >>> 3;
      const wire = this.#low & 7;
      if (inner === 0) {
        throw this.error("bad-tag", `the field number at byte ${tagStart} is 0`);
      } else if (wire === wireTypes.endGroup) {
        if (open.pop() !== inner) throw this.error("bad-group", `group ${field} is closed by field ${inner}`);
      } else if (wire === wireTypes.startGroup) {
        if (open.push(inner) > maxGroupDepth)
          throw this.error("too-deep", `groups nest beyond ${maxGroupDepth}`);
      } else {
        this.field = inner;
        this.wire = wire;
        this.start = this.#position;
        this.#measure();
      }
    }
    Object.assign(this, { field, tagStart, start, wire: wireTypes.startGroup });
    this.length = this.#position - start;
  }

  #readTag(): void {
    const start = this.#position;
    this.#readVarint("tag");
    if (this.#position - start > maxTagBytes || this.#high !== 0) {
      throw this.error("bad-tag", "the field number is out of range");
    }
  }

  /** Reads a varint at the position into #low and #high (unsigned 32-bit halves). */
  #readVarint(what: string): void {
    const at = this.#position - this.#windowStart;
    const isHere = this.#position < this.#end && at >= 0 && at < this.#filled;
    const first = isHere ? (this.#window[at] ?? 0x80) : 0x80;
    // Nearly every tag and most lengths are one byte.
    if (first < 0x80) {
      this.#low = first;
      this.#high = 0;
      this.#position += 1;
    } else this.#readLongVarint(what);
  }

  #readLongVarint(what: string): void {
    let low = 0;
    let high = 0;
    const available = Math.min(10, this.#end - this.#position);
    const at = this.#position - this.#windowStart;
    const isHere = at >= 0 && at + available <= this.#filled;
    const near = isHere ? available : Math.min(available, this.#ahead(this.#position));
    let window = this.#bytes(this.#position, near);
    for (let i = 0; i < available; i++) {
      if (i === near) window = this.#bytes(this.#position, available);
      const byte = window[this.#position - this.#windowStart + i] ?? 0;
      const bits = byte & 0x7f;
      if (i < 4) low |= bits << (7 * i);
      else if (i === 4) {
        low |= bits << 28;
        high = bits >>> 4;
      } else high |= bits << (7 * i - 32);
      if (byte < 0x80) {
        // The tenth byte holds one bit of 64.
        if (i === 9 && byte > 1) break;
        this.#low = low >>> 0;
        this.#high = high >>> 0;
        this.#position += i + 1;
        return;
      }
    }
    if (available < 10) throw this.error("truncated", `the message ends inside a ${what}`);
    throw this.error("bad-varint", `${what} is longer than 64 bits`);
  }

  /** How many bytes may be read that are not asked for. */
  #ahead(offset: number): number {
    return this.source.ahead?.(offset) ?? largeWindowBytes;
  }

  /** The window, made to cover [offset, offset + length). */
  #bytes(offset: number, length: number): Buffer {
    const from = offset - this.#windowStart;
    if (from >= 0 && from + length <= this.#filled) return this.#window;
    const straightOn = from >= 0 && from <= this.#filled && this.#filled > 0;
    this.#windowBytes = straightOn ? Math.min(this.#windowBytes * 2, largeWindowBytes) : smallWindowBytes;
    const wanted = Math.min(this.#windowBytes, this.#ahead(offset));
    const size = Math.min(Math.max(length, wanted), this.#limit - offset);
    if (size < length) throw this.error("truncated", `the file ends inside field ${this.field}`);
    // One buffer for all refills that fit it: what is read out of it is copied.
    if (size > this.#window.length) this.#window = Buffer.allocUnsafeSlow(size);
    this.#filled = 0;
    this.source.readInto(
      offset,
      size === this.#window.length ? this.#window : this.#window.subarray(0, size),
    );
    this.#windowStart = offset;
    this.#filled = size;
    return this.#window;
  }

  /** The field as text, or undefined where its bytes are not UTF-8. */
  textOrUndefined(): string | undefined {
    this.expect(wireTypes.bytes);
    const bytes = this.#bytes(this.start, this.length);
    const from = this.start - this.#windowStart;
    return isUtf8(bytes.subarray(from, from + this.length)) ? this.text() : undefined;
  }

  #wideText(bytes: Uint8Array): string {
    if (!isUtf8(bytes)) throw this.error("invalid-utf8", `field ${this.field} is not valid UTF-8 text`);
    return utf8.decode(bytes);
  }
}

/** Small numbers apart: the engine keeps a product of doubles as a double, boxed, wherever it is stored. */
function unsigned64(low: number, high: number): number {
  return high === 0 ? low : high * 2 ** 32 + low;
}

function signed64(low: number, high: number): number {
  return high === 0 ? low : (high | 0) * 2 ** 32 + low;
}
