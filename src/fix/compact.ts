/**
 * @file The small pieces of a patched model, computed and copied together once. Every round reads all metadata and all
 * small tensors of the model that the round before made: through the pieces, each of which may be computed from pieces
 * of the model before, every read would do again what all earlier rounds have done.
 */
import { Buffer } from "node:buffer";
import { readRange } from "../wire/source.ts";
import type { Segment } from "../wire/splice.ts";

/** Larger pieces are read where they are, a part at a time. */
const smallBytes = 64 << 10;
/** Small pieces that follow one another become blocks of about this size. */
const blockBytes = 1 << 20;
/** Of all blocks together; what is behind stays in pieces. */
const mostBytes = 256 << 20;

/** Segments with the same bytes. Reads the small ones, and throws what reading them throws. */
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
    const length = segment.kind === "bytes" ? segment.bytes.length : segment.length;
    if (length > smallBytes || totalBytes + length > mostBytes) {
      flush();
      compacted.push(segment);
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
