/**
 * @file Edits a protobuf file by ranges: what is not edited is copied byte for byte.
 *
 * An edit replaces whole fields of one message. The length prefixes of the messages around it are written anew; no
 * schema is needed for that, since a field that encloses an edit is a message.
 */
import { Buffer } from "node:buffer";
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
  return new Rewrite(source, message, edits).run();
}

/** One message that is edited, or that encloses one. */
class Rewrite {
  readonly #source: ByteSource;
  readonly #message: Range;
  /** Edits of this message's own fields, and of messages inside it; both in file order. */
  readonly #own: readonly Edit[];
  readonly #inner: readonly Edit[];
  readonly #result: Segment[] = [];
  /** Everything before this offset is in the result, or replaced. */
  #copied: number;
  #placed = 0;
  #descended = 0;

  constructor(source: ByteSource, message: Range, edits: readonly Edit[]) {
    const isOwn = ({ parent }: Edit) => parent.offset === message.offset && parent.length === message.length;
    this.#source = source;
    this.#message = message;
    this.#copied = message.offset;
    this.#own = edits.filter(isOwn);
    this.#inner = edits
      .filter((edit) => !isOwn(edit))
      .sort((a, b) => a.parent.offset - b.parent.offset || a.offset - b.offset);
  }

  run(): Segment[] {
    const { offset, length } = this.#message;
    const end = offset + length;
    const cursor = new Cursor(this.#source, offset, length);
    while (cursor.next()) {
      this.#placeAt(cursor.tagStart, end);
      this.#descend(cursor);
    }
    this.#placeAt(end, end);
    this.#copyTo(end);
    const stray = this.#own[this.#placed] ?? this.#inner[this.#descended];
    if (stray !== undefined) throw misplaced(this.#source, stray);
    return this.#result;
  }

  /** Places the edits of this message that begin at a field boundary. */
  #placeAt(boundary: number, end: number): void {
    for (let edit = this.#own[this.#placed]; edit?.offset === boundary; edit = this.#own[++this.#placed]) {
      if (edit.offset < this.#copied || edit.offset + edit.length > end) throw misplaced(this.#source, edit);
      this.#copyTo(edit.offset);
      this.#append(edit.replacement);
      this.#copied = edit.offset + edit.length;
    }
  }

  /** Rewrites the current field where edits lie inside it. */
  #descend(cursor: Cursor): void {
    const field = { offset: cursor.start, length: cursor.length };
    const nested: Edit[] = [];
    for (let edit = this.#inner[this.#descended]; edit && encloses(field, edit.parent); ) {
      nested.push(edit);
      edit = this.#inner[++this.#descended];
    }
    const [first] = nested;
    if (first === undefined) {
      // A replaced range ends where a field ends.
      if (cursor.tagStart < this.#copied && cursor.start + cursor.length > this.#copied) {
        throw misplaced(this.#source, this.#own[this.#placed - 1]);
      }
      return;
    }
    if (cursor.wire !== wireTypes.bytes || cursor.tagStart < this.#copied) {
      throw misplaced(this.#source, first);
    }
    const body = rewrite(this.#source, field, nested);
    this.#copyTo(cursor.tagStart);
    this.#result.push({ kind: "bytes", bytes: lengthPrefixed(cursor.field, segmentsLength(body)) });
    this.#append(body);
    this.#copied = field.offset + field.length;
  }

  #copyTo(offset: number): void {
    const length = offset - this.#copied;
    if (length <= 0) return;
    this.#result.push({ kind: "copy", source: this.#source, offset: this.#copied, length });
    this.#copied = offset;
  }

  /** One at a time: as arguments of one call, a million segments would not fit the stack. */
  #append(segments: readonly Segment[]): void {
    for (const segment of segments) this.#result.push(segment);
  }
}

function misplaced(source: ByteSource, edit: Edit | undefined): WireError {
  return new WireError(
    "bad-edit",
    `${source.name}: an edit at byte ${edit?.offset} does not fall on the fields of a message`,
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

export function lengthOf(segment: Segment): number {
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
