/** @file Writes the fields of a protobuf message, in the order in which they are given. */
import { wireTypes } from "./cursor.ts";

const firstBytes = 64;
/** The longest number: 64 bits, seven a byte. */
const maxVarintBytes = 10;

const encoder = new TextEncoder();

/** Of what a browser has as well. */
export class Writer {
  #bytes = new Uint8Array(firstBytes);
  #length = 0;

  /** An int64, or an int32 or enumeration that is not negative. */
  integer(field: number, value: number): void {
    this.#tag(field, wireTypes.varint);
    this.#int64(value);
  }

  /** Packed. */
  integers(field: number, values: readonly number[]): void {
    const packed = new Writer();
    for (const value of values) packed.#int64(value);
    this.bytes(field, packed.finish());
  }

  float(field: number, value: number): void {
    this.#tag(field, wireTypes.fixed32);
    this.#reserve(4);
    new DataView(this.#bytes.buffer).setFloat32(this.#length, value, true);
    this.#length += 4;
  }

  text(field: number, value: string): void {
    this.bytes(field, encoder.encode(value));
  }

  /** A message or other bytes. */
  bytes(field: number, value: Uint8Array): void {
    this.#tag(field, wireTypes.bytes);
    this.#varint(value.length);
    this.#reserve(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
  }

  finish(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  #tag(field: number, wire: number): void {
    this.#varint(field * 8 + wire);
  }

  #int64(value: number): void {
    if (value >= 0) this.#varint(value);
    else {
      this.#reserve(maxVarintBytes);
      let rest = BigInt.asUintN(64, BigInt(value));
      for (; rest > 0x7fn; rest >>= 7n) this.#bytes[this.#length++] = Number(rest & 0x7fn) | 0x80;
      this.#bytes[this.#length++] = Number(rest);
    }
  }

  #varint(value: number): void {
    this.#reserve(maxVarintBytes);
    let rest = value;
    while (rest >= 0x80) {
      this.#bytes[this.#length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.#bytes[this.#length++] = rest;
  }

  #reserve(size: number): void {
    const needed = this.#length + size;
    if (needed <= this.#bytes.length) return;
    const larger = new Uint8Array(Math.max(needed, 2 * this.#bytes.length));
    larger.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = larger;
  }
}
