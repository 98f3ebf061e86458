import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BufferSource } from "../../src/wire/source.ts";
import { type Edit, joinSegments, type Segment, segmentsLength, splice } from "../../src/wire/splice.ts";
import { encode, encodeField, type Field, fields } from "./messages.ts";
import { mostlyZeros } from "./sources.ts";

const insertion = (bytes: Uint8Array): Segment[] => [{ kind: "bytes", bytes }];

interface Range {
  readonly offset: number;
  readonly length: number;
}

interface Edited {
  readonly edits: Edit[];
  /** The tree as it should be afterwards. */
  readonly fields: Field[];
}

/** Hands out what to do next; `choose(n)` is below n. */
type Choose = (options: number) => number;

/** Edits a message at random: at each field keep, drop, replace, insert before, or go into it. */
function editMessage(
  message: readonly Field[],
  span: Range,
  spare: readonly Field[],
  choose: Choose,
): Edited {
  const edits: Edit[] = [];
  const result: Field[] = [];
  const fresh = () => spare[choose(spare.length)] ?? { field: 1, kind: "varint", value: 0n };
  const edit = (offset: number, length: number, replacement: readonly Field[]) => {
    edits.push({ parent: span, offset, length, replacement: insertion(encode(replacement)) });
    result.push(...replacement);
  };
  let offset = span.offset;
  for (const field of message) {
    const { length } = encodeField(field);
    const action = choose(8);
    if (action === 0) edit(offset, 0, [fresh()]);
    if (action === 1) edit(offset, length, []);
    else if (action === 2) edit(offset, length, [fresh(), fresh()]);
    else if (action < 6 && field.kind === "message") {
      const payload = encode(field.fields).length;
      const inner = editMessage(
        field.fields,
        { offset: offset + length - payload, length: payload },
        spare,
        choose,
      );
      edits.push(...inner.edits);
      result.push({ ...field, fields: inner.fields });
    } else result.push(field);
    offset += length;
  }
  if (choose(4) === 0) edit(offset, 0, [fresh()]);
  return { edits, fields: result };
}

describe("splice", () => {
  it("gives an unedited message back", () => {
    fc.assert(
      fc.property(fields, (message) => {
        const bytes = encode(message);
        expect(joinSegments(splice(new BufferSource("message", bytes), [])).equals(bytes)).toBe(true);
      }),
    );
  });

  it("writes what protobufjs would write of the edited message", () => {
    let edited = 0;
    const choices = fc.infiniteStream(fc.nat());
    fc.assert(
      fc.property(
        fields,
        fc.array(fields, { minLength: 1, maxLength: 3 }),
        choices,
        (message, spare, stream) => {
          const bytes = encode(message);
          const choose: Choose = (options) => (stream.next().value ?? 0) % Math.max(1, options);
          const span = { offset: 0, length: bytes.length };
          const { edits, fields: expected } = editMessage(message, span, spare.flat(), choose);
          const shuffled = [...edits].reverse();
          const result = splice(new BufferSource("message", bytes), shuffled);
          expect(joinSegments(result).equals(encode(expected))).toBe(true);
          expect(segmentsLength(result)).toBe(encode(expected).length);
          edited += edits.length > 0 ? 1 : 0;
        },
      ),
      { numRuns: 1000 },
    );
    expect(edited).toBeGreaterThan(300);
  });

  it("keeps the encoding of lengths that it does not touch, and writes the shortest where it does", () => {
    // Field 1 holds field 2 (length 1, padded to two bytes) and field 3.
    const bytes = Uint8Array.of(0x0a, 0x86, 0x00, 0x12, 0x81, 0x00, 0xff, 0x18, 0x05);
    const source = new BufferSource("padded", bytes);
    const parent = { offset: 3, length: 6 };
    const edit = { parent, offset: 7, length: 2, replacement: insertion(Uint8Array.of(0x18, 0x07)) };
    expect([...joinSegments(splice(source, [edit]))]).toEqual([
      0x0a, 0x06, 0x12, 0x81, 0x00, 0xff, 0x18, 0x07,
    ]);
  });

  it("copies gigabytes as one range, and counts them in the lengths around", () => {
    const size = 5 * 2 ** 30;
    // Field 1 of 5 GiB less its head: field 9 of nearly as much.
    const head = Uint8Array.of(0x0a, ...varint(size - 6), 0x4a, ...varint(size - 12));
    const source = mostlyZeros(size, [{ offset: 0, bytes: head }]);
    const edit = {
      parent: { offset: 6, length: size - 6 },
      offset: size,
      length: 0,
      replacement: insertion(Uint8Array.of(0x10, 0x01)),
    };
    const result = splice(source, [edit]);
    expect(segmentsLength(result)).toBe(size + 2);
    expect(result.map(({ kind }) => kind)).toEqual(["bytes", "copy", "bytes"]);
    const [first] = result;
    expect(first?.kind === "bytes" && [...first.bytes]).toEqual([0x0a, ...varint(size - 4)]);
  });

  it("takes more edits than a call takes arguments", () => {
    const count = 200_000;
    const bytes = Buffer.alloc(2 * count, Buffer.of(0x08, 0x01));
    const message = Buffer.concat([Buffer.of(0x0a, ...varint(bytes.length)), bytes]);
    const start = message.length - bytes.length;
    const parent = { offset: start, length: bytes.length };
    const edits = Array.from({ length: count / 2 }, (_, index) => ({
      parent,
      offset: start + 4 * index,
      length: 2,
      replacement: insertion(Uint8Array.of(0x08, 0x02)),
    }));
    const result = joinSegments(splice(new BufferSource("many", message), edits));
    expect(result.length).toBe(message.length);
    expect(result.readUInt8(start + 1)).toBe(2);
    expect(result.readUInt8(start + 3)).toBe(1);
  });

  it.each([
    ["begins inside a field", { offset: 3, length: 0 }],
    ["ends inside a field", { offset: 2, length: 1 }],
    ["runs past its message", { offset: 4, length: 4 }],
    ["overlaps another", { offset: 2, length: 2 }],
  ])("refuses an edit that %s", (_, range) => {
    // Field 1 is a message of two varints; field 4 follows.
    const source = new BufferSource("small", Uint8Array.of(0x0a, 0x04, 0x10, 0x01, 0x18, 0x02, 0x20, 0x03));
    const parent = { offset: 2, length: 4 };
    const other = { parent, offset: 2, length: 4, replacement: [] };
    const edits =
      range.length === 2
        ? [{ parent, ...range, replacement: [] }, other]
        : [{ parent, ...range, replacement: [] }];
    expect(() => splice(source, edits)).toThrow(expect.objectContaining({ code: "bad-edit" }));
  });

  it("refuses an edit of a message that is not there", () => {
    const source = new BufferSource("small", Uint8Array.of(0x0a, 0x04, 0x10, 0x01, 0x18, 0x02));
    for (const parent of [
      { offset: 3, length: 2 },
      { offset: 2, length: 3 },
      { offset: 40, length: 2 },
    ]) {
      const edit = { parent, offset: parent.offset, length: 0, replacement: [] };
      expect(() => splice(source, [edit])).toThrow(expect.objectContaining({ code: "bad-edit" }));
    }
  });
});

function varint(value: number): number[] {
  return value < 0x80 ? [value] : [(value % 0x80) | 0x80, ...varint(Math.floor(value / 0x80))];
}
