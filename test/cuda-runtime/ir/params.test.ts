/** @file Parameters of kernels as bytes: the layout that a C compiler gives the struct. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { byteOffsetOf, ParamWriter } from "../../../cuda-runtime/ir/params.ts";
import type { DeviceBuffer, View } from "../../../cuda-runtime/ir/view.ts";

const buffer: DeviceBuffer = { id: 0, kind: "temporary", bytes: 64, name: "b" };
const view: View = { buffer, type: "float16", shape: [4], strides: [1], offset: 3 };

describe("parameters", () => {
  test("lie at their natural alignment", () => {
    // struct { int a; void* p; int b; }
    const { bytes, pointers } = new ParamWriter().i32(7).pointer(view).i32(-1).done();
    expect([...new Int32Array(bytes.buffer)]).toEqual([7, 0, 0, 0, -1, 0]);
    expect(pointers).toEqual([{ at: 8, view }]);
  });

  test("may hold a null pointer, which keeps its place", () => {
    const { bytes, pointers } = new ParamWriter().pointer(undefined).i32(1).done();
    expect(pointers).toEqual([]);
    expect([bytes.length, new DataView(bytes.buffer).getInt32(8, true)]).toEqual([16, 1]);
  });

  test("refuse what is no 32-bit integer", () => {
    for (const value of [2 ** 31, -(2 ** 31) - 1, 0.5, Number.NaN])
      expect(() => new ParamWriter().i32(value)).toThrow("is no 32-bit integer");
    const { bytes } = new ParamWriter().i32(2 ** 31 - 1, -(2 ** 31)).done();
    expect([...new Int32Array(bytes.buffer)]).toEqual([2 ** 31 - 1, -(2 ** 31)]);
  });

  test("keep what was written, however many there are", () => {
    const fields = fc.array(fc.option(fc.integer(), { nil: view }), { maxLength: 200 });
    fc.assert(
      fc.property(fields, (all) => {
        const writer = new ParamWriter();
        for (const field of all) {
          if (typeof field === "number") writer.i32(field);
          else writer.pointer(field);
        }
        const { bytes, pointers } = writer.done();
        const data = new DataView(bytes.buffer);
        const places: number[] = [];
        let end = 0;
        for (const field of all) {
          const size = typeof field === "number" ? 4 : 8;
          const at = Math.ceil(end / size) * size;
          end = at + size;
          if (typeof field === "number") expect(data.getInt32(at, true)).toBe(field);
          else places.push(at);
        }
        expect(pointers.map(({ at }) => at)).toEqual(places);
        expect(data.byteLength).toBe(Math.ceil(end / 8) * 8);
      }),
    );
  });
});

test("a view begins at its offset times the size of an element", () => {
  expect(byteOffsetOf(view)).toBe(6);
});
