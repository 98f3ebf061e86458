/**
 * @file Edits a protobuf file by ranges: what is not edited is copied byte for byte.
 *
 * An edit replaces whole fields of one message. The length prefixes of the messages around it are written anew; no
 * schema is needed for that, since a field that encloses an edit is a message.
 */
import { Cursor, wireTypes } from "./cursor.ts";
import { WireError } from "./error.ts";
import { type ByteSource, readRange } from "./source.ts";

/** Bytes of the result, in order: copied from a source, or given. */
export type Segment =
  | { readonly kind: "copy"; readonly source: ByteSource; readonly offset: number; readonly length: number }
  | { readonly kind: "bytes"; readonly bytes: Uint8Array };

export interface Edit {
  /** Payload of the message that is edited; the whole file for its top level. */
  readonly parent: { readonly offset: number; readonly length: number };
  /** The fields replaced, tags included: [offset, offset + length). Length 0 inserts before `offset`. */
  readonly offset: number;
  readonly length: number;
  readonly replacement: readonly Segment[];
}

/** The segments of the edited file. Throws WireError where an edit does not fall on field boundaries. */
export function splice(source: ByteSource, edits: readonly Edit[]): Segment[] {
  const sorted = [...edits].sort((a, b) => a.offset - b.offset || a.length - b.length);
  return merge(rewrite(source, { offset: 0, length: source.size }, sorted));
}

export function segmentsLength(segments: readonly Segment[]): number {
  return segments.reduce((total, segment) => total + lengthOf(segment), 0);
}

/** The segments as one buffer; for small results and tests. */
export function joinSegments(segments: readonly Segment[]): Buffer {
  return Buffer.concat(
    segments.map((segment) =>
      segment.kind === "bytes" ? segment.bytes : readRange(segment.source, segment.offset, segment.length),
    ),
  );
}

interface Range {
  readonly offset: number;
  readonly length: number;
}

function rewrite(source: ByteSource, message: Range, edits: readonly Edit[]): Segment[] {
  if (edits.length === 0) return [{ kind: "copy", source, ...message }];
  const own = edits.filter(
    (edit) => edit.parent.offset === message.offset && edit.parent.length === message.length,
  );
  const mine = new Set(own);
  const inner = edits.filter((edit) => !mine.has(edit)).sort((a, b) => a.parent.offset - b.parent.offset);
  const result: Segment[] = [];
  const end = message.offset + message.length;
  let copied = message.offset;
  let [placed, descended] = [0, 0];
  const copyTo = (offset: number) => {
    if (offset > copied) result.push({ kind: "copy", source, offset: copied, length: offset - copied });
    copied = Math.max(copied, offset);
  };
  /** Places the edits of this message that begin at a field boundary. */
  const placeAt = (boundary: number) => {
    for (let edit = own[placed]; edit?.offset === boundary; edit = own[++placed]) {
      if (edit.offset < copied || edit.offset + edit.length > end) throw misplaced(source, edit);
      copyTo(edit.offset);
      result.push(...edit.replacement);
      copied = edit.offset + edit.length;
    }
  };
  const cursor = new Cursor(source, message.offset, message.length);
  while (cursor.next()) {
    placeAt(cursor.tagStart);
    const field = { offset: cursor.start, length: cursor.length };
    const nested: Edit[] = [];
    for (let edit = inner[descended]; edit && encloses(field, edit.parent); edit = inner[++descended])
      nested.push(edit);
    const [first] = nested;
    if (first === undefined) continue;
    if (cursor.wire !== wireTypes.bytes || cursor.tagStart < copied) throw misplaced(source, first);
    const body = rewrite(source, field, nested);
    copyTo(cursor.tagStart);
    result.push({ kind: "bytes", bytes: lengthPrefixed(cursor.field, segmentsLength(body)) }, ...body);
    copied = field.offset + field.length;
  }
  placeAt(end);
  copyTo(end);
  const stray = own[placed] ?? inner[descended];
  if (stray !== undefined) throw misplaced(source, stray);
  return result;
}

function misplaced(source: ByteSource, edit: Edit): WireError {
  return new WireError(
    "bad-edit",
    `${source.name}: an edit at byte ${edit.offset} does not fall on the fields of a message`,
  );
}

function encloses(outer: Range, inner: Range): boolean {
  return inner.offset >= outer.offset && inner.offset + inner.length <= outer.offset + outer.length;
}

/** Tag and length prefix of a length-delimited field. */
export function lengthPrefixed(field: number, length: number): Uint8Array {
  return Uint8Array.from([...varint(field * 8 + wireTypes.bytes), ...varint(length)]);
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) | 0x80);
    rest = Math.floor(rest / 0x80);
  }
  bytes.push(rest);
  return bytes;
}

function lengthOf(segment: Segment): number {
  return segment.kind === "bytes" ? segment.bytes.length : segment.length;
}

/** Joins copies that follow one another. */
function merge(segments: readonly Segment[]): Segment[] {
  const merged: Segment[] = [];
  for (const segment of segments) {
    const last = merged.at(-1);
    if (lengthOf(segment) === 0) continue;
    if (
      last?.kind === "copy" &&
      segment.kind === "copy" &&
      last.source === segment.source &&
      last.offset + last.length === segment.offset
    ) {
      merged[merged.length - 1] = { ...last, length: last.length + segment.length };
    } else merged.push(segment);
  }
  return merged;
}
