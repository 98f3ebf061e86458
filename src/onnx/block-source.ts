/** @file A source read in blocks, of which the last ones are kept: for readers that ask for little at a time. */
import { type ByteSource, readRange } from "../wire/source.ts";

const largeBlockBytes = 64 << 10;
/** For a file of which little is read between its weights. */
export const smallBlockBytes = 8 << 10;
/** A file that is no larger is read once. */
export const keptBytes = 16 << 20;

export class BlockSource implements ByteSource {
  readonly name: string;
  readonly size: number;
  readonly #source: ByteSource;
  readonly #blockBytes: number;
  /** By number, in the order in which they were read. */
  readonly #blocks = new Map<number, Uint8Array>();

  /** Closing it closes `source`. */
  constructor(source: ByteSource, blockBytes = largeBlockBytes) {
    this.name = source.name;
    this.size = source.size;
    this.#source = source;
    this.#blockBytes = blockBytes;
  }

  readInto(offset: number, target: Uint8Array): void {
    const end = offset + target.length;
    const blockBytes = this.#blockBytes;
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
    const block = readRange(this.#source, start, Math.min(this.#blockBytes, this.size - start));
    const [oldest] = this.#blocks.keys();
    if (oldest !== undefined && (this.#blocks.size + 1) * this.#blockBytes > keptBytes)
      this.#blocks.delete(oldest);
    this.#blocks.set(number, block);
    return block;
  }
}
