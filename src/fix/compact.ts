/**
 * @file The small pieces of a patched model, computed and copied together once. Every round reads all metadata and all
 * small tensors of the model that the round before made: through the pieces, each of which may be computed from pieces
 * of the model before, every read would do again what all earlier rounds have done.
 */
import { Buffer } from "node:buffer";
import { isLarge } from "../wire/segments.ts";
import { type ByteSource, readRange } from "../wire/source.ts";
import { lengthOf, type Segment } from "../wire/splice.ts";

/** Larger pieces are read where they are, a part at a time. */
const smallBytes = 64 << 10;
/** Small pieces that follow one another become blocks of about this size. */
const blockBytes = 1 << 20;
/** Of all blocks together; what is behind stays in pieces. */
const mostBytes = 256 << 20;

/** Segments with the same bytes. Reads the small ones, and throws what reading them throws; what has to be computed for that only where it is next to nothing. */
export function compact(segments: readonly Segment[]): Segment[] {
  const compacted: Segment[] = [];
  let pending: Uint8Array[] = [];
  let [pendingBytes, totalBytes] = [0, 0];
  const flush = () => {
    if (pendingBytes > 0) compacted.push({ kind: "bytes", bytes: Buffer.concat(pending, pendingBytes) });
    pending = [];
    pendingBytes = 0;
  };
  for (const segment of segments) {
    const length = lengthOf(segment);
    const isKept = length <= smallBytes && totalBytes + length <= mostBytes;
    if (!isKept || isLarge(segment)) {
      flush();
      compacted.push(isKept ? computedOnce(segment) : segment);
      if (isKept) totalBytes += length;
      continue;
    }
    pending.push(
      segment.kind === "bytes" ? segment.bytes : readRange(segment.source, segment.offset, length),
    );
    pendingBytes += length;
    totalBytes += length;
    if (pendingBytes >= blockBytes) flush();
  }
  flush();
  return compacted;
}

/** Computed when somebody asks for it, if anybody does, and then kept. */
function computedOnce(segment: Segment): Segment {
  if (segment.kind === "bytes") return segment;
  const { source, offset, length } = segment;
  let bytes: Uint8Array | undefined;
  const once: ByteSource = {
    name: source.name,
    size: length,
    isComputed: true,
    readInto: (from, target) => {
      bytes ??= readRange(source, offset, length);
      target.set(bytes.subarray(from, from + target.length));
    },
    close: () => {},
  };
  return { kind: "copy", source: once, offset: 0, length };
}
