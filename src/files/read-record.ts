/** @file Which bytes of which files a piece of work read: what it made of them is true for as long as these are the same. */
import { createHash } from "node:crypto";
import { type ByteSource, readRange } from "../wire/source.ts";

/** What was read of a file: offset, length, offset, length, … in order, apart from each other. */
export interface ReadBytes {
  /** Of the whole file. */
  readonly bytes: number;
  readonly ranges: readonly number[];
  /** Of what is in the ranges. */
  readonly sha256: string;
}

/** Closing it closes `source`. */
export class RecordedSource implements ByteSource {
  readonly name: string;
  readonly size: number;
  readonly #source: ByteSource;
  /** Ends by offsets: a reader that goes on where it stopped makes one range. */
  readonly #ends = new Map<number, number>();
  #last = 0;

  constructor(source: ByteSource) {
    this.name = source.name;
    this.size = source.size;
    this.#source = source;
  }

  readInto(offset: number, target: Uint8Array): void {
    this.#source.readInto(offset, target);
    const end = offset + target.length;
    const isNext = offset >= this.#last && offset <= (this.#ends.get(this.#last) ?? -1);
    if (!isNext) this.#last = offset;
    this.#ends.set(this.#last, Math.max(end, this.#ends.get(this.#last) ?? 0));
  }

  close(): void {
    this.#source.close();
  }

  /** Read again, in order: before it is closed. */
  readBytes(): ReadBytes {
    const ranges = merged(this.#ends);
    return { bytes: this.size, ranges, sha256: digestOf(this.#source, ranges) };
  }
}

function merged(ends: ReadonlyMap<number, number>): number[] {
  const ranges: number[] = [];
  let [from, to] = [-1, -1];
  for (const [offset, end] of [...ends].sort(([a], [b]) => a - b)) {
    if (offset <= to) to = Math.max(to, end);
    else {
      if (from >= 0) ranges.push(from, to - from);
      [from, to] = [offset, end];
    }
  }
  if (from >= 0) ranges.push(from, to - from);
  return ranges;
}

const pieceBytes = 1 << 20;

function digestOf(source: ByteSource, ranges: readonly number[]): string {
  const hash = createHash("sha256");
  for (let index = 0; index + 1 < ranges.length; index += 2) {
    const [from = 0, length = 0] = ranges.slice(index, index + 2);
    for (let done = 0; done < length; done += pieceBytes)
      hash.update(readRange(source, from + done, Math.min(pieceBytes, length - done)));
  }
  return hash.digest("hex");
}

/** Whether a file would be read as it was. Throws WireError where it cannot be read. */
export function isAsRead(source: ByteSource, { bytes, ranges, sha256 }: ReadBytes): boolean {
  return source.size === bytes && digestOf(source, ranges) === sha256;
}
