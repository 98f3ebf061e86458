import { describe, expect, it } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { createCostModel } from "../../src/cost/model.ts";
import { type Dim, symbol } from "../../src/ir/dim.ts";
import type { DType } from "../../src/ir/dtype.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import type { Fact } from "../../src/ops/op.ts";
import { extentOf, layoutPass, passOver } from "../../src/workload/extent.ts";
import { priceModel } from "../../src/workload/workload.ts";
import { targetOf } from "../rules/lint.ts";

const tensor = (shape: readonly Dim[] | undefined, dtype: DType | undefined = "float16"): Fact => ({
  kind: "tensor",
  dtype,
  shape,
});
const bindings = new Map([["N", 6]]);

describe("the extent of a value", () => {
  it("counts elements, the innermost axis and packed bytes", () => {
    const extent = { elements: 90, columns: 5, rank: 3, bytes: 180, dtype: "float16" };
    expect(extentOf(tensor([symbol("N"), 3, 5]), bindings)).toEqual(extent);
    const scalar = { elements: 1, columns: 1, rank: 0, bytes: 2, dtype: "float16" };
    expect(extentOf(tensor([]), bindings)).toEqual(scalar);
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

  it("is gone over lane by lane alike in either layout of an image", () => {
    const [first, last] = [
      extentOf(tensor([2, 67, 4, 5]), bindings),
      extentOf(tensor([2, 4, 5, 67]), bindings),
    ];
    const pass = first && passOver(first, "elementwise");
    expect(pass).toMatchObject({ rows: 1, columns: 2 * 67 * 20 });
    expect(pass).toEqual(last && passOver(last, "elementwise"));
    expect(first && passOver(first, "reduction")).toMatchObject({ rows: 536, columns: 5 });
  });
});

/** [N, C, …] brought to [N, …, C]. */
function toLast(shape: readonly number[]): Uint8Array {
  const perm = [0, ...shape.slice(2).map((_, index) => index + 2), 1];
  return model({ name: "transposed" }, (graph) => {
    graph.output(graph.node("Transpose", [graph.input("x", shape, "float16")], { perm }), "float16");
  });
}

describe("the pass between layouts", () => {
  it("is the work of the Transpose, in two dimensions and in three", () => {
    for (const shape of [
      [2, 67, 4, 5],
      [2, 67, 4, 5, 3],
      [2, 67, 1, 5],
    ]) {
      using opened = modelFromBytes(toLast(shape));
      const [step] = priceModel(opened, { target: targetOf("cudnn", "fp16"), cost: createCostModel() })
        .timeline.steps;
      expect(step?.work).toEqual(layoutPass(tensor(shape), bindings));
    }
  });

  it("is none where both layouts are the same bytes", () => {
    expect(layoutPass(tensor([2, 1, 4, 5]), bindings)).toBeUndefined();
    expect(layoutPass(tensor([2, 67, 1, 1]), bindings)).toBeUndefined();
    expect(layoutPass(tensor([2, 67, symbol("M"), 5]), bindings)).toBeUndefined();
  });
});
