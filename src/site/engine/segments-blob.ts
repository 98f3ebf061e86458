/** @file Segments as a Blob: what is copied from a dropped file stays where it is, whatever its size. */
import { SegmentSource } from "../../wire/segments.ts";
import type { ByteSource } from "../../wire/source.ts";
import type { Segment } from "../../wire/splice.ts";
import { BlobSource } from "./blob-source.ts";

const pieceBytes = 4 << 20;

/** `original` reads the dropped file through blocks: its bytes are the file's own. */
export interface Origin {
  readonly source: ByteSource;
  readonly file: File;
}

/** Throws WireError where a part cannot be read. */
export function blobOf(segments: readonly Segment[], original: Origin): Blob {
  const parts: BlobPart[] = [];
  for (const segment of segments) {
    if (segment.kind === "bytes") parts.push(Uint8Array.from(segment.bytes));
    else addRange(segment.source, segment.offset, segment.length, original, parts);
  }
  return new Blob(parts, { type: "application/octet-stream" });
}

function addRange(
  source: ByteSource,
  offset: number,
  length: number,
  original: Origin,
  parts: BlobPart[],
): void {
  const end = offset + length;
  if (source === original.source) parts.push(original.file.slice(offset, end));
  else if (source instanceof BlobSource) parts.push(source.blob.slice(offset, end));
  else if (source instanceof SegmentSource) addSegments(source, offset, end, original, parts);
  else {
    // Made by a pass: read in pieces, which the browser may keep on the disk.
    for (let at = offset; at < end; at += pieceBytes) {
      const piece = new Uint8Array(Math.min(pieceBytes, end - at));
      source.readInto(at, piece);
      parts.push(new Blob([piece]));
    }
  }
}

/** The parts of a spliced source between two offsets. */
function addSegments(
  { segments }: SegmentSource,
  from: number,
  to: number,
  original: Origin,
  parts: BlobPart[],
): void {
  let start = 0;
  for (const segment of segments) {
    const length = segment.kind === "bytes" ? segment.bytes.length : segment.length;
    const [first, last] = [Math.max(from - start, 0), Math.min(to - start, length)];
    start += length;
    if (first >= last) continue;
    if (segment.kind === "bytes") parts.push(Uint8Array.from(segment.bytes.subarray(first, last)));
    else addRange(segment.source, segment.offset + first, last - first, original, parts);
  }
}
