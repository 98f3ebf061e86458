/** @file Where bytes come from: whatever can be read by ranges. A buffer can; files are in file-source.ts. */
import { Buffer } from "node:buffer";
import { WireError } from "./error.ts";

export interface ByteSource {
  /** For messages. */
  readonly name: string;
  readonly size: number;
  /** Copies [offset, offset + target.length) into `target`. Throws WireError `truncated` past the end. */
  readInto(offset: number, target: Uint8Array): void;
  /**
   * How many bytes from `offset` on may be read that nobody asked for: what is behind them is computed, or is not to be read at all. No less than 1; any
   * number where it is left out.
   */
  ahead?(offset: number): number;
  /** Set where reading computes what is read. */
  readonly isComputed?: true;
  close(): void;
}

/** Reads a range into a new buffer. */
export function readRange(source: ByteSource, offset: number, length: number): Buffer {
  if (offset < 0 || length < 0 || offset + length > source.size) throw truncated(source, offset, length);
  const target = Buffer.allocUnsafe(length);
  source.readInto(offset, target);
  return target;
}

/** A source that tells how many bytes are asked of it. Closing it closes `source`. */
export class CountedSource implements ByteSource {
  readonly name: string;
  readonly size: number;
  readonly #source: ByteSource;
  readonly #onRead: (bytes: number) => void;

  constructor(source: ByteSource, onRead: (bytes: number) => void) {
    this.name = source.name;
    this.size = source.size;
    this.#source = source;
    this.#onRead = onRead;
  }

  readInto(offset: number, target: Uint8Array): void {
    this.#onRead(target.length);
    this.#source.readInto(offset, target);
  }

  close(): void {
    this.#source.close();
  }
}

export class BufferSource implements ByteSource {
  readonly name: string;
  readonly size: number;
  readonly #bytes: Uint8Array;

  constructor(name: string, bytes: Uint8Array) {
    this.name = name;
    this.size = bytes.length;
    this.#bytes = bytes;
  }

  readInto(offset: number, target: Uint8Array): void {
    if (offset + target.length > this.size) throw truncated(this, offset, target.length);
    target.set(this.#bytes.subarray(offset, offset + target.length));
  }

  close(): void {}
}

/** What is past the end of a source. */
export function truncated(source: ByteSource, offset: number, length: number): WireError {
  return new WireError(
    "truncated",
    `${source.name}: ends at byte ${source.size}, but bytes ${offset} to ${offset + length} are needed`,
  );
}
