/** A spliced file is read where it is asked for: what is computed behind that is left alone. */
import { expect, test } from "vitest";
import { Cursor } from "../../src/wire/cursor.ts";
import { SegmentSource } from "../../src/wire/segments.ts";
import type { ByteSource } from "../../src/wire/source.ts";
import { lengthPrefixed, type Segment } from "../../src/wire/splice.ts";
import { bytesOf } from "./sources.ts";

const computed: ByteSource = {
  name: "computed",
  size: 8,
  readInto: () => {
    throw new Error("is computed");
  },
  ready: () => 0,
  close: () => {},
};

const body: Segment = { kind: "copy", source: computed, offset: 0, length: computed.size };
const head: Segment = { kind: "bytes", bytes: lengthPrefixed(1, computed.size) };
const number: Segment = { kind: "copy", source: bytesOf(2 << 3, 150, 1), offset: 0, length: 3 };

function walked(source: ByteSource): number[] {
  const cursor = new Cursor(source);
  const fields: number[] = [];
  while (cursor.next()) fields.push(cursor.field);
  return fields;
}

test("a cursor steps over what is computed, also where one spliced file holds another", () => {
  const once = new SegmentSource("once", [number, head, body, number]);
  expect(walked(once)).toEqual([2, 1, 2]);
  const whole: Segment = { kind: "copy", source: once, offset: 0, length: once.size };
  expect(walked(new SegmentSource("twice", [whole, number]))).toEqual([2, 1, 2, 2]);
});

test("what lies ready ends where something is computed, or where it is asked to end", () => {
  const source = new SegmentSource("spliced", [number, head, body, number]);
  expect(source.ready(0, 13)).toBe(5);
  expect(source.ready(1, 3)).toBe(3);
  expect(source.ready(6, 4)).toBe(0);
  expect(source.ready(13, 3)).toBe(3);
});

test("a computed part is read by who asks for it", () => {
  const source = new SegmentSource("spliced", [number, head, body]);
  expect(() => source.readInto(5, new Uint8Array(1))).toThrow("is computed");
});
