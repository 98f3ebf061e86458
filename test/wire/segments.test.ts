/** A file that exists as pieces is walked through without the weights among them: those may be computed of what nobody reads. */
import { expect, test } from "vitest";
import { rejectForeign } from "../../src/onnx/sniff.ts";
import { Cursor } from "../../src/wire/cursor.ts";
import { SegmentSource } from "../../src/wire/segments.ts";
import type { ByteSource } from "../../src/wire/source.ts";
import { lengthPrefixed, type Segment } from "../../src/wire/splice.ts";

const weightBytes = 200_000;
const weights: ByteSource = {
  name: "weights",
  size: weightBytes,
  readInto: () => {
    throw new Error("weights are not to be read");
  },
  close: () => {},
};

function pieces(): Segment[] {
  const name = Uint8Array.from([...lengthPrefixed(2, 1), 0x61]);
  const around: Segment = { kind: "bytes", bytes: name };
  const head: Segment = { kind: "bytes", bytes: lengthPrefixed(1, weightBytes) };
  const payload: Segment = { kind: "copy", source: weights, offset: 0, length: weightBytes };
  return [around, head, payload, around, head, payload];
}

/** As a pass over the result of another has it: one piece that is a file of pieces. */
function nested(): Segment[] {
  const source = new SegmentSource("first", pieces());
  return [{ kind: "copy", source, offset: 0, length: source.size }];
}

test.each([
  ["beside each other", pieces],
  ["within another file of pieces", nested],
])("fields are found around weights %s", (_, segments) => {
  const cursor = new Cursor(new SegmentSource("model", segments()));
  const found: [field: number, length: number][] = [];
  const texts: string[] = [];
  while (cursor.next()) {
    found.push([cursor.field, cursor.length]);
    if (cursor.field === 2) texts.push(cursor.text());
  }
  expect(found).toEqual([
    [2, 1],
    [1, weightBytes],
    [2, 1],
    [1, weightBytes],
  ]);
  expect(texts).toEqual(["a", "a"]);
});

test("what a file is, is told by its first bytes, and not by weights that come early", () => {
  expect(() => rejectForeign(new SegmentSource("model", pieces()))).not.toThrow();
});
