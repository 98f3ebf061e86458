import { describe, expect, it } from "vitest";
import { type Dim, symbol } from "../../src/ir/dim.ts";
import type { DType } from "../../src/ir/dtype.ts";
import type { Fact } from "../../src/ops/op.ts";
import { extentOf, layoutPass, passOver } from "../../src/workload/extent.ts";

const tensor = (shape: readonly Dim[] | undefined, dtype: DType | undefined = "float16"): Fact => ({
  kind: "tensor",
  dtype,
  shape,
});
const bindings = new Map([["N", 6]]);

describe("the extent of a value", () => {
  it("counts elements, the innermost axis and packed bytes", () => {
    const extent = { elements: 90, columns: 5, bytes: 180, dtype: "float16" };
    expect(extentOf(tensor([symbol("N"), 3, 5]), bindings)).toEqual(extent);
    expect(extentOf(tensor([]), bindings)).toEqual({ elements: 1, columns: 1, bytes: 2, dtype: "float16" });
    expect(extentOf(tensor([3], "uint4"), bindings)).toMatchObject({ elements: 3, bytes: 2 });
  });

  it("is not known where a size, a rank or a type is not", () => {
    expect(extentOf(tensor([symbol("M"), 3]), bindings)).toBeUndefined();
    expect(extentOf(tensor(undefined), bindings)).toBeUndefined();
    expect(extentOf({ kind: "tensor", dtype: undefined, shape: [3] }, bindings)).toBeUndefined();
    expect(extentOf(undefined, bindings)).toBeUndefined();
  });

  it("is read and written once by a pass", () => {
    const extent = extentOf(tensor([symbol("N"), 3, 5]), bindings);
    const pass = extent && passOver(extent, "reduction");
    const moved = { bytesRead: 180, bytesWritten: 180, dtype: "float16" };
    expect(pass).toEqual({ kind: "traffic", pattern: "reduction", rows: 18, columns: 5, ...moved });
  });
});

describe("the pass between layouts", () => {
  it("walks positions of channels, in two dimensions and in three", () => {
    const flat = layoutPass(tensor([2, 67, 4, 5]), bindings);
    expect(flat).toMatchObject({ pattern: "copy", rows: 40, columns: 67, bytesRead: 2 * 67 * 20 * 2 });
    expect(layoutPass(tensor([2, 67, 4, 5, 3]), bindings)).toMatchObject({ rows: 120, columns: 67 });
  });

  it("is none where both layouts are the same bytes", () => {
    expect(layoutPass(tensor([2, 1, 4, 5]), bindings)).toBeUndefined();
    expect(layoutPass(tensor([2, 67, 1, 1]), bindings)).toBeUndefined();
    expect(layoutPass(tensor([2, 67, symbol("M"), 5]), bindings)).toBeUndefined();
  });
});
