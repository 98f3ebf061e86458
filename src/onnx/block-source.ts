/** @file A source read in blocks, of which the last ones are kept: for readers that ask for little at a time. */
import { type ByteSource, readRange } from "../wire/source.ts";

const blockBytes = 64 << 10;
const mostBlocks = 256;
/** 16 MiB: a file that is no larger is read once. */
export const keptBytes = mostBlocks * blockBytes;

export class BlockSource implements ByteSource {
  readonly name: string;
  readonly size: number;
  readonly #source: ByteSource;
  /** By number, in the order in which they were read. */
  readonly #blocks = new Map<number, Uint8Array>();

  /** Closing it closes `source`. */
  constructor(source: ByteSource) {
    this.name = source.name;
    this.size = source.size;
    this.#source = source;
  }

  readInto(offset: number, target: Uint8Array): void {
    const end = offset + target.length;
    // What fills blocks by itself would only drive others out; what is past the end is the source's to refuse.
    if (target.length >= blockBytes || offset < 0 || end > this.size) {
      this.#source.readInto(offset, target);
      return;
    }
    for (let at = offset; at < end; ) {
      const number = Math.floor(at / blockBytes);
      const start = number * blockBytes;
      const part = this.#block(number, start).subarray(at - start, end - start);
      target.set(part, at - offset);
      at += part.length;
    }
  }

  close(): void {
    this.#source.close();
  }

  #block(number: number, start: number): Uint8Array {
    const known = this.#blocks.get(number);
    if (known !== undefined) return known;
    const block = readRange(this.#source, start, Math.min(blockBytes, this.size - start));
    const [oldest] = this.#blocks.keys();
    if (oldest !== undefined && this.#blocks.size >= mostBlocks) this.#blocks.delete(oldest);
    this.#blocks.set(number, block);
    return block;
  }
}
