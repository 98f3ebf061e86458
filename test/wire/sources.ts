/** @file Sources for tests: bytes that count what is read of them, and files too large to have. */
import { BufferSource, type ByteSource } from "../../src/wire/source.ts";

/** Counts the bytes and calls that reach the source behind it. */
export class CountingSource implements ByteSource {
  readonly name = "counted";
  readonly size: number;
  reads = 0;
  bytesRead = 0;
  readonly #source: ByteSource;

  constructor(source: ByteSource) {
    this.#source = source;
    this.size = source.size;
  }

  readInto(offset: number, target: Uint8Array): void {
    this.reads += 1;
    this.bytesRead += target.length;
    this.#source.readInto(offset, target);
  }

  close(): void {}
}

export interface Piece {
  readonly offset: number;
  readonly bytes: Uint8Array;
}

/** Zeros of any size, with some bytes at some places. */
export function mostlyZeros(size: number, pieces: readonly Piece[]): ByteSource {
  return {
    name: "zeros",
    size,
    readInto(offset, target) {
      target.fill(0);
      for (const piece of pieces) {
        const from = Math.max(0, offset - piece.offset);
        const to = Math.min(piece.bytes.length, offset + target.length - piece.offset);
        if (to > from) target.set(piece.bytes.subarray(from, to), piece.offset + from - offset);
      }
    },
    close() {},
  };
}

export function bytesOf(...bytes: readonly number[]): BufferSource {
  return new BufferSource("bytes", Uint8Array.from(bytes));
}
