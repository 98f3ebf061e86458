/** @file A spliced file as a source of its own: readable at any offset before a byte of it is written. */
import { WireError } from "./error.ts";
import type { ByteSource } from "./source.ts";
import { lengthOf, type Segment, segmentsLength } from "./splice.ts";

const largeBytes = 64 << 10;
/** Of what is computed as it is read. */
const largeComputedBytes = 256;

/** The concatenation of segments. Closing it leaves the sources of its copies open. */
export class SegmentSource implements ByteSource {
  readonly name: string;
  readonly size: number;
  readonly segments: readonly Segment[];
  /** Where each segment begins. */
  readonly #starts: readonly number[];

  constructor(name: string, segments: readonly Segment[]) {
    this.name = name;
    this.segments = segments;
    this.size = segmentsLength(segments);
    let start = 0;
    this.#starts = segments.map((segment) => {
      const here = start;
      start += lengthOf(segment);
      return here;
    });
  }

  readInto(offset: number, target: Uint8Array): void {
    if (offset < 0 || offset + target.length > this.size) {
      throw new WireError(
        "truncated",
        `${this.name}: bytes ${offset} to ${offset + target.length} are past its end`,
      );
    }
    let done = 0;
    for (let index = this.#segmentAt(offset); done < target.length; index++) {
      const segment = this.segments[index];
      const from = offset + done - (this.#starts[index] ?? 0);
      if (segment === undefined) return;
      const part = target.subarray(done, Math.min(target.length, done + lengthOf(segment) - from));
      if (segment.kind === "bytes") part.set(segment.bytes.subarray(from, from + part.length));
      else segment.source.readInto(segment.offset + from, part);
      done += part.length;
    }
  }

  /** To the next weights: those that a pass computes may be made of some that are not there. */
  ahead(offset: number): number {
    const first = this.#segmentAt(offset);
    const here = this.segments[first];
    const from = offset - (this.#starts[first] ?? 0);
    if (here?.kind === "copy") {
      const known = here.source.ahead?.(here.offset + from) ?? here.length;
      if (known < here.length - from) return known;
    }
    let end = first + 1;
    for (let next = this.segments[end]; next !== undefined && !isLarge(next); next = this.segments[end])
      end++;
    return (this.#starts[end] ?? this.size) - offset;
  }

  close(): void {}

  /** The last segment that begins at or before `offset`. */
  #segmentAt(offset: number): number {
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** Weights are: they are read where somebody asks for what is in them, and not ahead. */
export function isLarge(segment: Segment): boolean {
  if (segment.kind === "bytes") return false;
  return segment.length > (segment.source.isComputed === true ? largeComputedBytes : largeBytes);
}
