/** @file Parameter structs by tables: fields lie as a C++ compiler lays them out, and take what they have room for. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  f32,
  flag,
  i32,
  i32s,
  i64,
  list,
  nested,
  pointer,
  StructTable,
  tensorMap,
  u32,
  writeParams,
} from "../../../cuda-runtime/ir/param-table.ts";
import type { DeviceBuffer, View } from "../../../cuda-runtime/ir/view.ts";

const buffer: DeviceBuffer = { id: 0, kind: "temporary", bytes: 64, name: "b" };
const view: View = { buffer, type: "float16", shape: [4], strides: [1], offset: 3 };

describe("a struct's fields", () => {
  test("lie at their natural alignment", () => {
    const table = new StructTable("P", "", { a: i32(), p: pointer("void"), b: f32(), c: i64(), d: i32() });
    const { bytes, pointers, tensorMaps } = writeParams(table, { a: 7, p: view, b: 0.5, c: -2, d: -1 });
    const data = new DataView(bytes.buffer);
    expect([bytes.length, table.bytes]).toEqual([40, 40]);
    expect(data.getInt32(0, true)).toBe(7);
    expect(pointers).toEqual([{ at: 8, view }]);
    expect(tensorMaps).toBeUndefined();
    expect(data.getFloat32(16, true)).toBe(0.5);
    expect(data.getBigInt64(24, true)).toBe(-2n);
    expect(data.getInt32(32, true)).toBe(-1);
  });

  test("may be a null pointer, which keeps its place", () => {
    const table = new StructTable("P", "", { p: pointer("void"), a: flag() });
    const { bytes, pointers } = writeParams(table, { p: undefined, a: true });
    expect(pointers).toEqual([]);
    expect([bytes.length, new DataView(bytes.buffer).getInt32(8, true)]).toEqual([16, 1]);
  });

  test("may be structs, alone and in arrays, aligned as the widest of theirs", () => {
    const inner = new StructTable("Inner", "", { a: i32(), p: pointer("void") });
    const table = new StructTable("Outer", "", {
      n: i32(),
      one: nested(inner),
      more: list(nested(inner), [2]),
    });
    const other = { a: 2, p: view };
    const { bytes, pointers } = writeParams(table, { n: 1, one: { a: 3, p: view }, more: [other, other] });
    expect([...new Int32Array(bytes.buffer)]).toEqual([1, 0, 3, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0]);
    expect(pointers.map(({ at }) => at)).toEqual([16, 32, 48]);
  });

  test("may be descriptors, which are filled in once addresses are known", () => {
    const table = new StructTable("P", "", { a: tensorMap(), b: tensorMap(), n: i32() });
    const map = { view, sizes: [4], strides: [], box: [4] };
    const { bytes, tensorMaps } = writeParams(table, { a: map, b: map, n: 1 });
    expect([bytes.length, tensorMaps?.map(({ at }) => at)]).toEqual([320, [0, 128]]);
  });

  test("do not compile without a value each, of their type", () => {
    const table = new StructTable("P", "", { a: i32(), b: flag() });
    // @ts-expect-error b has no value
    expect(() => writeParams(table, { a: 1 })).not.toThrow();
    // @ts-expect-error c is no field
    expect(() => writeParams(table, { a: 1, b: true, c: 2 })).not.toThrow();
    // @ts-expect-error b is no number
    expect(() => writeParams(table, { a: 1, b: 1 })).not.toThrow();
  });
});

describe("arrays", () => {
  test("are filled up where the table says by what, and refuse more than there is room for", () => {
    const table = new StructTable("P", "", { a: i32s(4, { fill: 1 }) });
    expect([...new Int32Array(writeParams(table, { a: [5, 6] }).bytes.buffer)]).toEqual([5, 6, 1, 1]);
    expect(() => writeParams(table, { a: [1, 2, 3, 4, 5] })).toThrow("5 values for 4 fields");
  });

  test("refuse fewer elements than they have where nothing fills them up", () => {
    const table = new StructTable("P", "", { a: i32s(3), b: list(i32(), [2, 2]) });
    expect(() => writeParams(table, { a: [1, 2], b: [1, 2, 3, 4] })).toThrow("2 values for 3 fields");
    expect(() => writeParams(table, { a: [1, 2, 3], b: [1, 2, 3] })).toThrow("3 values for 4 fields");
  });
});

describe("numbers of 32 bits", () => {
  const signed = new StructTable("P", "", { a: i32() });
  const unsigned = new StructTable("P", "", { a: u32() });

  test("are whole, and with a sign unless said", () => {
    for (const value of [2 ** 31, -(2 ** 31) - 1, 0.5, Number.NaN])
      expect(() => writeParams(signed, { a: value })).toThrow("is no 32-bit integer");
    for (const value of [2 ** 32, -(2 ** 31) - 1, 0.5, Number.NaN])
      expect(() => writeParams(unsigned, { a: value })).toThrow("is no 32-bit integer");
  });

  test("keep their bits", () => {
    fc.assert(
      fc.property(fc.integer(), (value) => {
        const bits = new Uint32Array([value])[0] ?? 0;
        expect([...new Int32Array(writeParams(signed, { a: value }).bytes.buffer)]).toEqual([value]);
        for (const a of [value, bits])
          expect([...new Uint32Array(writeParams(unsigned, { a }).bytes.buffer)]).toEqual([bits]);
      }),
    );
  });
});
