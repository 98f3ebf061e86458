/** @file A model with its external data moved inside, written in constant memory. */
import { closeSync, ftruncateSync, openSync, writeSync } from "node:fs";
import path from "node:path";
import { tensorFields } from "../src/onnx/fields.ts";
import { type OpenModel, openModel } from "../src/onnx/open.ts";
import { tensorsOf } from "../src/onnx/weights.ts";
import { Cursor } from "../src/wire/cursor.ts";
import { FileSource } from "../src/wire/file-source.ts";
import type { ByteSource } from "../src/wire/source.ts";
import {
  type Edit,
  joinSegments,
  lengthPrefixed,
  type Segment,
  segmentsLength,
  splice,
} from "../src/wire/splice.ts";

const chunkBytes = 8 << 20;

/** Writes to `target` the model at `file` with every external tensor as raw_data. */
export function inlineWeights(file: string, target: string): void {
  using model = openModel(file);
  const data = new Map<string, FileSource>();
  const segments = inlined(model, (location) => {
    const source = data.get(location) ?? FileSource.open(path.join(path.dirname(file), location));
    data.set(location, source);
    return source;
  });
  writeSegments(segments, target);
  for (const source of data.values()) source.close();
}

/** The same with zeros for weights, which are holes in the file: no disk holds them, and nobody has to have them. */
export function inlineHoles(file: string, target: string): void {
  using model = openModel(file);
  const hole: ByteSource = { name: "zeros", size: Number.MAX_SAFE_INTEGER, readInto() {}, close() {} };
  const descriptor = openSync(target, "w");
  let offset = 0;
  for (const segment of inlined(model, () => hole)) {
    const isHole = segment.kind === "copy" && segment.source === hole;
    const bytes = isHole ? undefined : joinSegments([segment]);
    if (bytes !== undefined) writeSync(descriptor, bytes, 0, bytes.length, offset);
    offset += segmentsLength([segment]);
  }
  ftruncateSync(descriptor, offset);
  closeSync(descriptor);
}

function inlined(model: OpenModel, sourceOf: (location: string) => ByteSource): Segment[] {
  const edits: Edit[] = [];
  for (const { data: place, span } of tensorsOf(model)) {
    if (place.kind !== "external" || place.length === undefined) continue;
    const { location, offset, length } = place;
    edits.push(
      ...tensorEdits(model.source, span, { kind: "copy", source: sourceOf(location), offset, length }),
    );
  }
  return splice(model.source, edits);
}

/** Takes out where the data was, and puts the data behind everything else. */
function tensorEdits(
  source: ByteSource,
  parent: { offset: number; length: number },
  raw: Segment & { length: number },
): Edit[] {
  const edits: Edit[] = [];
  const cursor = new Cursor(source, parent.offset, parent.length);
  while (cursor.next()) {
    if (cursor.field !== tensorFields.externalData && cursor.field !== tensorFields.dataLocation) continue;
    const length = cursor.start + cursor.length - cursor.tagStart;
    edits.push({ parent, offset: cursor.tagStart, length, replacement: [] });
  }
  const head: Segment = { kind: "bytes", bytes: lengthPrefixed(tensorFields.rawData, raw.length) };
  edits.push({ parent, offset: parent.offset + parent.length, length: 0, replacement: [head, raw] });
  return edits;
}

function writeSegments(segments: readonly Segment[], target: string): void {
  const descriptor = openSync(target, "w");
  const buffer = Buffer.allocUnsafe(chunkBytes);
  for (const segment of segments) {
    if (segment.kind === "bytes") writeFully(descriptor, segment.bytes);
    else {
      for (let done = 0; done < segment.length; done += chunkBytes) {
        const chunk = buffer.subarray(0, Math.min(chunkBytes, segment.length - done));
        segment.source.readInto(segment.offset + done, chunk);
        writeFully(descriptor, chunk);
      }
    }
  }
  closeSync(descriptor);
}

function writeFully(descriptor: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(descriptor, bytes, done);
}
