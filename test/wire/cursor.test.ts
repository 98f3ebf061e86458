import fc from "fast-check";
import protobuf from "protobufjs/minimal.js";
import { describe, expect, it } from "vitest";
import { Cursor } from "../../src/wire/cursor.ts";
import { WireError } from "../../src/wire/error.ts";
import { BufferSource, type ByteSource } from "../../src/wire/source.ts";
import { encode, type Field, fields, wireTypeOf } from "./messages.ts";
import { bytesOf, CountingSource, mostlyZeros } from "./sources.ts";

/** Code of the error that walking over all fields ends with. */
function failureOf(source: ByteSource): string | undefined {
  try {
    const cursor = new Cursor(source);
    while (cursor.next());
    return undefined;
  } catch (error) {
    if (error instanceof WireError) return error.code;
    throw error;
  }
}

function tagged(field: number, write: (writer: protobuf.Writer) => protobuf.Writer, wire = 2): Uint8Array {
  return write(protobuf.Writer.create().uint32((field << 3) | wire)).finish();
}

function first(bytes: Uint8Array): Cursor {
  const cursor = new Cursor(new BufferSource("bytes", bytes));
  expect(cursor.next()).toBe(true);
  return cursor;
}

function expectFields(cursor: Cursor, source: Uint8Array, expected: readonly Field[]): void {
  for (const field of expected) {
    expect(cursor.next()).toBe(true);
    expect(cursor.field).toBe(field.field);
    expect(cursor.wire).toBe(wireTypeOf[field.kind]);
    if (field.kind === "varint") {
      expect(cursor.bigint()).toBe(BigInt.asIntN(64, field.value));
      expect(cursor.integer()).toBe(Number(BigInt.asIntN(64, field.value)));
      expect(cursor.int32()).toBe(Number(BigInt.asIntN(32, field.value)));
    } else if (field.kind === "message") {
      const outer = cursor.enter();
      expectFields(cursor, source, field.fields);
      cursor.leave(outer);
    } else {
      const payload = source.subarray(cursor.start, cursor.start + cursor.length);
      expect(Buffer.from(payload).equals(field.bytes)).toBe(true);
    }
  }
  expect(cursor.next()).toBe(false);
}

describe("Cursor", () => {
  it("reads what protobufjs writes, nested messages included", () => {
    fc.assert(
      fc.property(fields, (message) => {
        const bytes = encode(message);
        expectFields(new Cursor(new BufferSource("random", bytes)), bytes, message);
      }),
      { numRuns: 400 },
    );
  });

  it("finds the fields that protobufjs finds, and refuses what it refuses, in random bytes", () => {
    let valid = 0;
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 12 }), (bytes) => {
        const ours: string[] = [];
        let code: string | undefined;
        try {
          const cursor = new Cursor(new BufferSource("random", bytes));
          while (cursor.next()) ours.push(`${cursor.field}:${cursor.wire}:${cursor.start + cursor.length}`);
        } catch (error) {
          if (!(error instanceof WireError)) throw error;
          code = error.code;
        }
        const theirs = walkWithProtobufjs(bytes);
        // Groups apart: protobufjs nests them by recursion and lets an end stand alone.
        if (theirs.hasGroups) return;
        if (code === undefined) {
          valid += 1;
          expect(theirs.failed).toBe(false);
          expect(ours).toEqual(theirs.fields);
        } else if (code !== "bad-tag" && code !== "bad-varint") {
          // Tags and integers beyond their bits are refused here, but cut off there.
          expect(theirs.failed).toBe(true);
        }
      }),
      { numRuns: 5000 },
    );
    expect(valid).toBeGreaterThan(50);
  });

  it("steps over payloads without reading them", () => {
    const length = 6 * 2 ** 30;
    const head = tagged(9, (writer) => writer.uint64(length));
    const tail = tagged(1, (writer) => writer.uint32(7), 0);
    const size = head.length + length + tail.length;
    const pieces = [
      { offset: 0, bytes: head },
      { offset: head.length + length, bytes: tail },
    ];
    const source = new CountingSource(mostlyZeros(size, pieces));
    const cursor = new Cursor(source);
    expect(cursor.next()).toBe(true);
    expect([cursor.field, cursor.start, cursor.length]).toEqual([9, head.length, length]);
    expect(cursor.next()).toBe(true);
    expect([cursor.field, cursor.integer(), cursor.tagStart]).toEqual([1, 7, head.length + length]);
    expect(cursor.next()).toBe(false);
    expect(source.bytesRead).toBeLessThan(16 << 10);
  });

  it("reads each byte of a long run of small fields about once", () => {
    const small = tagged(1, (writer) => writer.string("x".repeat(30)));
    const bytes = Buffer.concat(Array.from({ length: 100_000 }, () => small));
    const source = new CountingSource(new BufferSource("run", bytes));
    const cursor = new Cursor(source);
    let count = 0;
    while (cursor.next()) count += cursor.text().length;
    expect(count).toBe(3_000_000);
    expect(source.bytesRead).toBeLessThan(1.01 * bytes.length);
    expect(source.reads).toBeLessThan(30);
  });
});

describe("Cursor: integers and tags", () => {
  it.each([
    ["an eleventh byte", [0x08, ...Array(10).fill(0x80), 0x01], "bad-varint"],
    ["a 65th bit", [0x08, ...Array(9).fill(0xff), 0x02], "bad-varint"],
    ["an end inside a number", [0x08, 0x80], "truncated"],
    ["an end inside a tag", [0x88], "truncated"],
    ["an end inside a length", [0x0a, 0x80], "truncated"],
    ["an end inside a fixed32", [0x0d, 0, 0, 0], "truncated"],
    ["an end inside a fixed64", [0x09, 0, 0, 0, 0, 0, 0, 0], "truncated"],
    ["field number 0", [0x00, 0x01], "bad-tag"],
    ["field number 0 of a length", [0x02, 0x00], "bad-tag"],
    ["a tag of six bytes", [0x88, 0x80, 0x80, 0x80, 0x80, 0x00, 0x01], "bad-tag"],
    ["a field number beyond 29 bits", [0x88, 0x80, 0x80, 0x80, 0x10, 0x01], "bad-tag"],
    ["wire type 6", [0x0e], "wire-type"],
    ["wire type 7", [0x0f], "wire-type"],
    ["a length beyond the end", [0x0a, 0x05, 0x00], "truncated"],
    ["a length of 2^63", [0x0a, ...Array(9).fill(0x80), 0x01], "truncated"],
  ])("refuses %s", (_, bytes, code) => {
    expect(failureOf(bytesOf(...bytes))).toBe(code);
  });

  it("takes the largest and the most negative integer", () => {
    const cursor = new Cursor(
      bytesOf(0x08, ...Array(9).fill(0xff), 0x01, 0x10, ...Array(9).fill(0x80), 0x01),
    );
    cursor.next();
    expect([cursor.bigint(), cursor.integer(), cursor.int32()]).toEqual([-1n, -1, -1]);
    cursor.next();
    expect([cursor.bigint(), cursor.integer()]).toEqual([-(2n ** 63n), -(2 ** 63)]);
  });

  it("takes an integer padded with zero bits, as protobuf does", () => {
    expect(first(Uint8Array.of(0x08, 0x85, 0x80, 0x80, 0x00)).integer()).toBe(5);
  });

  it("names a length that leaves the enclosing message apart from one that leaves the file", () => {
    const cursor = new Cursor(bytesOf(0x0a, 0x02, 0x0a, 0x05, 0x10, 0x01));
    cursor.next();
    cursor.enter();
    expect(() => cursor.next()).toThrow(expect.objectContaining({ code: "bad-length" }));
  });

  it("refuses to read a field as what it is not", () => {
    const cursor = first(Uint8Array.of(0x08, 0x01));
    for (const read of [() => cursor.text(), () => cursor.enter(), () => cursor.float()]) {
      expect(read).toThrow(expect.objectContaining({ code: "wire-type" }));
    }
  });
});

describe("Cursor: groups", () => {
  const start = (field: number) => (field << 3) | 3;
  const end = (field: number) => (field << 3) | 4;

  it("steps over one with what is in it", () => {
    const inside = [0x08, 0x05, 0x12, 0x02, 0xff, 0xff, start(4), 0x0d, 1, 2, 3, 4, end(4)];
    const cursor = new Cursor(bytesOf(start(3), ...inside, end(3), 0x08, 0x2a));
    expect(cursor.next()).toBe(true);
    expect([cursor.field, cursor.wire, cursor.tagStart]).toEqual([3, 3, 0]);
    expect(cursor.next()).toBe(true);
    expect([cursor.field, cursor.integer()]).toEqual([1, 42]);
    expect(cursor.next()).toBe(false);
  });

  it.each([
    ["one that does not end", [start(3), 0x08, 0x01], "truncated"],
    ["one closed by another's end", [start(3), end(4)], "bad-group"],
    ["an end alone", [end(3)], "wire-type"],
    ["nesting beyond 100", Array(101).fill(start(3)), "too-deep"],
    ["100,000 levels", Array(100_000).fill(start(3)), "too-deep"],
    ["field number 0 inside", [start(3), 0x00, 0x01, end(3)], "bad-tag"],
  ])("refuses %s", (_, bytes, code) => {
    expect(failureOf(bytesOf(...bytes))).toBe(code);
  });
});

describe("Cursor: text", () => {
  it("is what protobufjs wrote, beyond ASCII too", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const cursor = first(tagged(1, (writer) => writer.string(text)));
        expect(cursor.text()).toBe(text);
        expect(cursor.textOrUndefined()).toBe(text);
      }),
    );
  });

  it.each([
    ["a lone continuation byte", [0x80]],
    ["an overlong encoding", [0xc0, 0xaf]],
    ["a surrogate", [0xed, 0xa0, 0x80]],
    ["a cut-off character", [0xe2, 0x82]],
  ])("refuses %s", (_, bytes) => {
    const cursor = first(tagged(1, (writer) => writer.bytes(Uint8Array.from(bytes))));
    expect(() => cursor.text()).toThrow(expect.objectContaining({ code: "invalid-utf8" }));
    expect(cursor.textOrUndefined()).toBeUndefined();
  });

  it("is not read where it is longer than any name", () => {
    const length = 2 ** 30;
    const head = tagged(1, (writer) => writer.uint32(length));
    const source = new CountingSource(mostlyZeros(head.length + length, [{ offset: 0, bytes: head }]));
    const cursor = new Cursor(source);
    cursor.next();
    expect(() => cursor.text()).toThrow(expect.objectContaining({ code: "text-too-long" }));
    expect(source.bytesRead).toBeLessThan(8 << 10);
  });
});

describe("Cursor: repeated numbers", () => {
  const collect = (cursor: Cursor, encoding: "varint" | "fixed32" | "fixed64") => {
    const values: number[] = [];
    do cursor.repeated(encoding, (value) => values.push(value));
    while (cursor.next());
    return values;
  };

  it("read the same packed, one at a time, and mixed", () => {
    fc.assert(
      fc.property(fc.array(fc.maxSafeInteger(), { minLength: 1 }), fc.nat(20), (values, split) => {
        const packed = (part: readonly number[]) =>
          tagged(7, (writer) => {
            writer.fork();
            for (const value of part) writer.int64(value);
            return writer.ldelim();
          });
        const single = (part: readonly number[]) =>
          Buffer.concat(part.map((value) => tagged(7, (writer) => writer.int64(value), 0)));
        const [head, tail] = [values.slice(0, split), values.slice(split)];
        for (const bytes of [packed(values), single(values), Buffer.concat([packed(head), single(tail)])]) {
          expect(collect(first(bytes), "varint")).toEqual(values);
        }
      }),
    );
  });

  it("read floats and doubles bit by bit", () => {
    fc.assert(
      fc.property(
        fc.array(fc.float(), { minLength: 1 }),
        fc.array(fc.double(), { minLength: 1 }),
        (floats, doubles) => {
          const packedFloats = tagged(7, (writer) =>
            writer.bytes(Buffer.from(Float32Array.from(floats).buffer)),
          );
          const packedDoubles = tagged(7, (writer) =>
            writer.bytes(Buffer.from(Float64Array.from(doubles).buffer)),
          );
          expect(collect(first(packedFloats), "fixed32")).toEqual(floats);
          expect(collect(first(packedDoubles), "fixed64")).toEqual(doubles);
          const single = tagged(7, (writer) => writer.float(floats[0] ?? 0), 5);
          expect(collect(first(single), "fixed32")).toEqual(floats.slice(0, 1));
        },
      ),
    );
  });

  it("refuse a packed payload that ends inside a number", () => {
    const cursor = first(tagged(7, (writer) => writer.bytes(new Uint8Array(6))));
    expect(() => collect(cursor, "fixed32")).toThrow(expect.objectContaining({ code: "bad-length" }));
    const varints = first(tagged(7, (writer) => writer.bytes(Uint8Array.of(0x01, 0x80))));
    expect(() => collect(varints, "varint")).toThrow(expect.objectContaining({ code: "truncated" }));
  });
});

/** Fields as protobufjs' reader steps over them: "number:wire type:end". */
function walkWithProtobufjs(bytes: Uint8Array): { fields: string[]; failed: boolean; hasGroups: boolean } {
  const reader = protobuf.Reader.create(bytes);
  const found: string[] = [];
  let hasGroups = false;
  try {
    while (reader.pos < reader.len) {
      const tag = reader.uint32();
      const wire = tag & 7;
      hasGroups ||= wire === 3 || wire === 4;
      if (tag >>> 3 === 0) return { fields: found, failed: true, hasGroups };
      reader.skipType(wire);
      found.push(`${tag >>> 3}:${wire}:${reader.pos}`);
    }
    return { fields: found, failed: false, hasGroups };
  } catch {
    return { fields: found, failed: true, hasGroups };
  }
}
