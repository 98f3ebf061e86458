/** What is written is what protobufjs writes, and the cursor reads it back. */
import fc from "fast-check";
import protobuf from "protobufjs/minimal.js";
import { expect, test } from "vitest";
import { Cursor } from "../../src/wire/cursor.ts";
import { BufferSource } from "../../src/wire/source.ts";
import { Writer } from "../../src/wire/writer.ts";

const int64 = fc.oneof(
  fc.maxSafeInteger(),
  fc.constantFrom(0, 127, 128, 2 ** 32, -1, -(2 ** 31), 2 ** 63, -(2 ** 63)),
);
const number = fc.constantFrom(1, 15, 16, 2047, 536_870_911);
const field = fc.oneof(
  fc.record({ kind: fc.constant("integer" as const), number, value: int64 }),
  fc.record({ kind: fc.constant("integers" as const), number, value: fc.array(int64) }),
  fc.record({ kind: fc.constant("float" as const), number, value: fc.float() }),
  fc.record({
    kind: fc.constant("text" as const),
    number,
    value: fc.string({ unit: "grapheme", maxLength: 90 }),
  }),
  fc.record({ kind: fc.constant("bytes" as const), number, value: fc.uint8Array({ maxLength: 300 }) }),
);
type Field = typeof field extends fc.Arbitrary<infer T> ? T : never;

function written(fields: readonly Field[]): Buffer {
  const writer = new Writer();
  for (const each of fields) {
    if (each.kind === "integer") writer.integer(each.number, each.value);
    else if (each.kind === "integers") writer.integers(each.number, each.value);
    else if (each.kind === "float") writer.float(each.number, each.value);
    else if (each.kind === "text") writer.text(each.number, each.value);
    else writer.bytes(each.number, each.value);
  }
  return Buffer.from(writer.finish());
}

function expected(fields: readonly Field[]): Buffer {
  const writer = protobuf.Writer.create();
  const tagged = (each: Field, wire: number) => writer.uint32(((each.number << 3) | wire) >>> 0);
  for (const each of fields) {
    if (each.kind === "integer") tagged(each, 0).int64(each.value);
    else if (each.kind === "integers") {
      tagged(each, 2).fork();
      for (const value of each.value) writer.int64(value);
      writer.ldelim();
    } else if (each.kind === "float") tagged(each, 5).float(each.value);
    else if (each.kind === "text") tagged(each, 2).string(each.value);
    else tagged(each, 2).bytes(each.value);
  }
  return Buffer.from(writer.finish());
}

test("fields are written as protobufjs writes them", () => {
  fc.assert(
    fc.property(fc.array(field, { maxLength: 12 }), (fields) => {
      expect(written(fields).equals(expected(fields))).toBe(true);
    }),
    { numRuns: 400 },
  );
});

test("integers are read back as they were given, beyond 32 bits and below zero", () => {
  const values = [0, 1, -1, 127, 128, 2 ** 40 + 1, -(2 ** 40), Number.MAX_SAFE_INTEGER, -(2 ** 63)];
  const cursor = new Cursor(
    new BufferSource(
      "numbers",
      written(values.map((value): Field => ({ kind: "integer", number: 15, value }))),
    ),
  );
  const read: number[] = [];
  while (cursor.next()) read.push(cursor.integer());
  expect(read).toEqual(values);
});
