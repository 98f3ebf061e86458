/** @file A model whose external data has other names: the location of every tensor in a renamed file, and nothing else. */
import { Cursor } from "../wire/cursor.ts";
import { type Edit, type Segment, splice } from "../wire/splice.ts";
import { bytesSegment, entry, message } from "./encode.ts";
import { tensorFields } from "./fields.ts";
import type { OpenModel } from "./open.ts";
import { decodeEntry } from "./tensor.ts";
import { tensorsOf } from "./weights.ts";

/** The model's bytes with `names` for the locations that it has. */
export function relocated(model: OpenModel, names: ReadonlyMap<string, string>): readonly Segment[] {
  const edits: Edit[] = [];
  for (const { data, span } of tensorsOf(model)) {
    const name = data.kind === "external" ? names.get(data.location) : undefined;
    if (name !== undefined) edits.push(locationEdit(model, span, name));
  }
  return splice(model.source, edits);
}

/** An external tensor has exactly one location: reading it made sure. */
function locationEdit({ source }: OpenModel, span: Edit["parent"], name: string): Edit {
  const cursor = new Cursor(source, span.offset, span.length);
  while (cursor.next()) {
    if (cursor.field !== tensorFields.externalData) continue;
    const { tagStart: offset, start } = cursor;
    const length = start + cursor.length - offset;
    if (decodeEntry(cursor).key !== "location") continue;
    const field = message((writer) => entry(writer, tensorFields.externalData, "location", name));
    return { parent: span, offset, length, replacement: [bytesSegment(field)] };
  }
  throw new Error("tc-lint bug: an external tensor without a location");
}
