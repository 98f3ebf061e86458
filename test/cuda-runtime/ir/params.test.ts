/** @file Parameters of kernels as bytes: the layout that a C compiler gives the struct. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { byteOffsetOf, ParamWriter } from "../../../cuda-runtime/ir/params.ts";
import type { DeviceBuffer, View } from "../../../cuda-runtime/ir/view.ts";

const buffer: DeviceBuffer = { id: 0, kind: "temporary", bytes: 64, name: "b" };
const view: View = { buffer, type: "float16", shape: [4], strides: [1], offset: 3 };

describe("parameters", () => {
  test("lie at their natural alignment", () => {
    // struct { int a; void* p; float b; int64_t c; int d; }
    const { bytes, pointers } = new ParamWriter().i32(7).pointer(view).f32(0.5).i64(-2).i32(-1).done();
    const data = new DataView(bytes.buffer);
    expect(bytes.length).toBe(40);
    expect(data.getInt32(0, true)).toBe(7);
    expect(pointers).toEqual([{ at: 8, view }]);
    expect(data.getBigUint64(8, true)).toBe(0n);
    expect(data.getFloat32(16, true)).toBe(0.5);
    expect(data.getBigInt64(24, true)).toBe(-2n);
    expect(data.getInt32(32, true)).toBe(-1);
  });

  test("may hold a null pointer, which keeps its place", () => {
    const { bytes, pointers } = new ParamWriter().pointer(undefined).i32(1).done();
    expect(pointers).toEqual([]);
    expect([bytes.length, new DataView(bytes.buffer).getInt32(8, true)]).toEqual([16, 1]);
  });

  test("fill arrays up, and refuse more than there is room for", () => {
    const { bytes } = new ParamWriter().i32s([5, 6], 4, 1).done();
    expect([...new Int32Array(bytes.buffer)]).toEqual([5, 6, 1, 1]);
    expect(() => new ParamWriter().i32s([1, 2, 3], 2)).toThrow("3 values for 2 fields");
  });

  test("refuse what is no 32-bit integer", () => {
    for (const value of [2 ** 31, -(2 ** 31) - 1, 0.5, Number.NaN])
      expect(() => new ParamWriter().i32(value)).toThrow("is no 32-bit integer");
    const { bytes } = new ParamWriter().i32(2 ** 31 - 1, -(2 ** 31)).done();
    expect([...new Int32Array(bytes.buffer)]).toEqual([2 ** 31 - 1, -(2 ** 31)]);
  });

  test("keep what was written, however many there are", () => {
    const fields = fc.array(fc.tuple(fc.constantFrom("i32", "i64", "f32"), fc.integer()), { maxLength: 200 });
    fc.assert(
      fc.property(fields, (all) => {
        const writer = new ParamWriter();
        for (const [kind, value] of all) {
          if (kind === "i32") writer.i32(value);
          else if (kind === "i64") writer.i64(value);
          else writer.f32(value);
        }
        const data = new DataView(writer.done().bytes.buffer);
        let end = 0;
        for (const [kind, value] of all) {
          const size = kind === "i64" ? 8 : 4;
          const at = Math.ceil(end / size) * size;
          end = at + size;
          if (kind === "i32") expect(data.getInt32(at, true)).toBe(value);
          else if (kind === "i64") expect(data.getBigInt64(at, true)).toBe(BigInt(value));
          else expect(data.getFloat32(at, true)).toBe(Math.fround(value));
        }
        expect(data.byteLength).toBe(Math.ceil(end / 8) * 8);
      }),
    );
  });
});

test("a view begins at its offset times the size of an element", () => {
  expect(byteOffsetOf(view)).toBe(6);
});
