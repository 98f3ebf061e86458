/** @file A model whose external data is elsewhere: the location of every tensor in a file that moved, its offset, and nothing else. */
import { Cursor } from "../wire/cursor.ts";
import type { ByteSource } from "../wire/source.ts";
import { type Edit, type Segment, splice } from "../wire/splice.ts";
import { bytesSegment, entry, message } from "./encode.ts";
import { tensorFields } from "./fields.ts";
import type { OpenModel } from "./open.ts";
import { decodeEntry } from "./tensor.ts";
import { tensorsOf } from "./weights.ts";

/** Where data is now. */
export interface DataPlace {
  readonly name: string;
  readonly moved: (offset: number) => number;
}

/** The model's bytes with `places` for the locations that it has. */
export function relocated(model: OpenModel, places: ReadonlyMap<string, DataPlace>): readonly Segment[] {
  const edits: Edit[] = [];
  for (const { data, span } of tensorsOf(model)) {
    const place = data.kind === "external" ? places.get(data.location) : undefined;
    if (place !== undefined) for (const edit of placeEdits(model, span, place)) edits.push(edit);
  }
  return splice(model.source, edits);
}

/** An external tensor has exactly one location, and an offset where that is not 0: reading it made sure. */
function placeEdits({ source }: OpenModel, span: Edit["parent"], { name, moved }: DataPlace): Edit[] {
  return [...externalEntries(source, span)].flatMap(({ key, value, offset, length }) => {
    const next = key === "location" ? name : key === "offset" ? String(moved(Number(value))) : value;
    if (next === value) return [];
    const field = message((writer) => entry(writer, tensorFields.externalData, key, next));
    return [{ parent: span, offset, length, replacement: [bytesSegment(field)] }];
  });
}

/** What a tensor in the file says of its external data, and where it says so. */
export function* externalEntries(source: ByteSource, span: Edit["parent"]) {
  const cursor = new Cursor(source, span.offset, span.length);
  while (cursor.next()) {
    if (cursor.field !== tensorFields.externalData) continue;
    const { tagStart: offset, start } = cursor;
    const length = start + cursor.length - offset;
    yield { ...decodeEntry(cursor), offset, length };
  }
}
