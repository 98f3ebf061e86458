import { describe, expect, test } from "vitest";
import { addDims, type Dim, mulDims } from "../../src/ir/dim.ts";
import { ShapeError, type TensorFact } from "../../src/ops/op.ts";
import { tensor } from "../../src/ops/shape.ts";
import { type ContextOptions, infer, unknown } from "./context.ts";
import { allShown, anyRank, computed, float, ints, n, p, s, scalar, shown } from "./tensors.ts";

/** INT64_MAX as a double. */
const farEnd = 2 ** 63;

describe("joining and cutting", () => {
  const concat = (axis: number, ...inputs: TensorFact[]) =>
    shown({ type: "Concat", inputs, attributes: { axis } });

  test("Concat adds along its axis", () => {
    expect(concat(1, float(n, 3, 8), float(n, 5, 8))).toBe("float32[N,8,8]");
    expect(concat(-1, float(2, p), float(2, s))).toBe("float32[2,P + S]");
    expect(concat(0, float(unknown, 3), float(2, 3))).toBe("float32[? + 2,3]");
    expect(concat(0, anyRank, float(2, 3))).toBe("float32[? + 2,3]");
    expect(concat(0, anyRank, anyRank)).toBe("float32[*]");
    expect(() => concat(0, float(2, 3), float(2))).toThrow(/different ranks/);
    expect(() => concat(0, float(2, 3), float(2, 4))).toThrow(ShapeError);
    expect(() => concat(0, float(2), ints(2))).toThrow(/float32 and int64/);
  });

  test("Concat keeps known sizes beside computed ones", () => {
    expect(concat(0, ints(n), ints(), computed(1), ints(768))).toBe("int64[3] = N,?,768");
    expect(concat(0, computed(1), computed(1))).toBe("int64[2]");
    expect(concat(0, tensor("float32", [1], [1]), float(1))).toBe("float32[2]");
  });

  test("Split by sizes, by count and by number of outputs", () => {
    const split = (options: Partial<ContextOptions>) =>
      allShown({ type: "Split", outputCount: 2, ...options });
    expect(split({ inputs: [float(n, 6), ints(2, 4)], attributes: { axis: 1 } })).toEqual([
      "float32[N,2]",
      "float32[N,4]",
    ]);
    expect(split({ inputs: [float(6)], attributes: { split: [1, 5] }, opset: 11 })).toEqual([
      "float32[1]",
      "float32[5]",
    ]);
    expect(split({ inputs: [ints(n, 4, 5, 6), ints(1, 3)] })).toEqual(["int64[1] = N", "int64[3] = 4,5,6"]);
    expect(split({ inputs: [float(mulDims(n, 2))], opset: 13 })).toEqual(["float32[N]", "float32[N]"]);
    expect(split({ inputs: [float(7)], attributes: { num_outputs: 3 }, outputCount: 3 })).toEqual([
      "float32[3]",
      "float32[3]",
      "float32[1]",
    ]);
    expect(split({ inputs: [float(2, 7), computed(2)] })).toEqual(["float32[?,7]", "float32[?,7]"]);
    expect(split({ inputs: [anyRank] })).toEqual(["float32[*]", "float32[*]"]);
    expect(() => split({ inputs: [float(7), ints(3, 3)] })).toThrow(/add up to 6, expected 7/);
    expect(() => split({ inputs: [float(7)], opset: 13 })).toThrow(ShapeError);
  });

  const slice = (input: TensorFact, ...lists: TensorFact[]) =>
    shown({ type: "Slice", inputs: [input, ...lists] });

  test.each<[Dim, Dim, Dim, string]>([
    [n, 0, farEnd, "N"],
    [n, 0, 2 ** 31 - 1, "N"],
    [n, 1, farEnd, "N - 1"],
    [n, 2, -1, "N - 3"],
    [n, -1, farEnd, "1"],
    [n, 0, 1, "1"],
    [n, 3, 4, "1"],
    [n, -3, -2, "1"],
    [n, 0, 5, "min(5, N)"],
    [n, 0, n, "N"],
    [n, 4, 2, "0"],
    [addDims(n, 5), 5, farEnd, "N"],
    [addDims(n, 5), 0, 5, "5"],
    [addDims(p, s), p, farEnd, "S"],
    [addDims(p, s), p, addDims(p, s), "S"],
    [512, 0, s, "min(512, S)"],
    [512, p, addDims(p, 1), "1"],
    [n, 0, mulDims(n, -1), "0"],
    [n, unknown, addDims(unknown, s), "min(-? + N, S)"],
  ])("Slice of %s from %s to %s keeps %s", (size, start, end, expected) => {
    const kept = slice(float(size), ints(start), ints(end));
    expect(kept).toBe(`float32[${expected}]`);
  });

  test("Slice steps, backwards too", () => {
    const stepped = (size: Dim, start: number, end: number, step: number) =>
      slice(float(size), ints(start), ints(end), ints(0), ints(step));
    expect(stepped(n, 0, farEnd, 2)).toBe("float32[floordiv(N + 1, 2)]");
    expect(stepped(mulDims(n, 2), 0, farEnd, 2)).toBe("float32[N]");
    expect(stepped(n, -1, -farEnd, -1)).toBe("float32[N]");
    expect(stepped(n, farEnd, -farEnd, -1)).toBe("float32[N]");
    expect(stepped(7, -1, -8, -2)).toBe("float32[4]");
    expect(() => stepped(7, 0, 1, 0)).toThrow(/step of 0/);
  });

  test("Slice with unknown bounds keeps the other axes", () => {
    expect(slice(float(n, 3), computed(1), ints(2), ints(0))).toBe("float32[?,3]");
    expect(slice(float(n, 3), computed(1), computed(1))).toBe("float32[?,3]");
    expect(slice(float(n, 3), ints(0), ints(1), computed(1))).toBe("float32[?,?]");
    expect(slice(anyRank, ints(0), ints(1))).toBe("float32[*]");
    const attributes = { starts: [1], ends: [3], axes: [-1] };
    expect(shown({ type: "Slice", opset: 9, attributes, inputs: [float(n, 5)] })).toBe("float32[N,2]");
    expect(() => slice(float(2, 3), ints(0, 0), ints(1), ints(0, 1))).toThrow(ShapeError);
  });

  test("Slice of a shape", () => {
    expect(slice(ints(n, 3, 224, 225), ints(-2), ints(farEnd), ints(0))).toBe("int64[2] = 224,225");
  });

  test("Compress and Trilu", () => {
    const condition = tensor("bool", [3], [1, 0, 1]);
    expect(shown({ type: "Compress", inputs: [float(3, n), condition], attributes: { axis: 0 } })).toBe(
      "float32[2,N]",
    );
    expect(shown({ type: "Compress", inputs: [float(3, n), computed(3)] })).toBe("float32[?]");
    const square = tensor("int64", [2, 2], [1, 2, 3, 4]);
    expect(shown({ type: "Trilu", inputs: [square] })).toBe("int64[2,2] = 1,2,0,4");
    expect(shown({ type: "Trilu", inputs: [square, scalar(-1)], attributes: { upper: 0 } })).toBe(
      "int64[2,2] = 0,0,3,0",
    );
    expect(shown({ type: "Trilu", inputs: [float(n, n)] })).toBe("float32[N,N]");
    expect(() => infer({ type: "Trilu", inputs: [float(3)] })).toThrow(ShapeError);
  });
});

describe("gathering and scattering", () => {
  test("Gather replaces an axis by the axes of its indices", () => {
    const gather = (data: TensorFact, indices: TensorFact, axis = 0) =>
      shown({ type: "Gather", inputs: [data, indices], attributes: { axis } });
    expect(gather(float(50257, 768), tensor("int64", [n, s]))).toBe("float32[N,S,768]");
    expect(gather(float(n, 7, 8), scalar(0), 1)).toBe("float32[N,8]");
    expect(gather(ints(n, 3, 224), scalar(0))).toBe("int64[] = N");
    expect(gather(ints(n, 3, 224), ints(-1, 0))).toBe("int64[2] = 224,N");
    expect(gather(ints(n, 3), ints(unknown))).toBe("int64[1] = ?");
    expect(gather(anyRank, ints(0))).toBe("float32[*]");
    expect(() => gather(float(3), ints(0), 1)).toThrow(ShapeError);
  });

  test("GatherElements has the shape of its indices", () => {
    const inputs = [tensor("int64", [2, 2], [1, 2, 3, 4]), tensor("int64", [2, 1], [1, -2])];
    expect(shown({ type: "GatherElements", inputs, attributes: { axis: 1 } })).toBe("int64[2,1] = 2,3");
    expect(() => infer({ type: "GatherElements", inputs: [float(2), float(2, 2)] })).toThrow(ShapeError);
  });

  test("GatherND", () => {
    const gather = (data: TensorFact, indices: TensorFact, batch = 0) =>
      shown({ type: "GatherND", inputs: [data, indices], attributes: { batch_dims: batch } });
    expect(gather(float(n, 5, 6, 7), tensor("int64", [n, 9, 2]), 1)).toBe("float32[N,9,7]");
    expect(gather(tensor("int64", [2, 2], [1, 2, 3, 4]), tensor("int64", [2, 2], [0, 1, -1, 0]))).toBe(
      "int64[2] = 2,3",
    );
    expect(gather(float(2, 2), tensor("int64", [2, n]))).toBe("float32[*]");
    expect(() => gather(float(2, 2), tensor("int64", [2, 3]))).toThrow(ShapeError);
  });

  test("ScatterElements and ScatterND write into a copy", () => {
    const data = ints(1, 2, 3, n);
    const elements = (reduction: string) => ({
      type: "ScatterElements",
      attributes: { reduction },
      inputs: [data, ints(0, -1), ints(10, 20)],
    });
    expect(shown(elements("none"))).toBe("int64[4] = 10,2,3,20");
    expect(shown(elements("add"))).toBe("int64[4] = 11,2,3,N + 20");
    expect(shown(elements("min"))).toBe("int64[4] = 1,2,3,min(20, N)");
    const rows = [
      tensor("int64", [2, 2], [1, 2, 3, 4]),
      tensor("int64", [1, 1], [1]),
      tensor("int64", [1, 2], [8, 9]),
    ];
    expect(shown({ type: "ScatterND", inputs: rows })).toBe("int64[2,2] = 1,2,8,9");
    expect(shown({ type: "ScatterND", inputs: [data, computed(1), ints(1)] })).toBe("int64[4]");
    expect(shown({ type: "ScatterElements", inputs: [data, ints(unknown), ints(1)] })).toBe("int64[4]");
    expect(shown({ type: "Scatter", opset: 9, inputs: [float(n, 4), float(n, 1), float(n, 1)] })).toBe(
      "float32[N,4]",
    );
    expect(() => infer({ type: "ScatterND", inputs: [float(2), tensor("int64", [1, 2]), float(1)] })).toThrow(
      ShapeError,
    );
  });

  test("TensorScatter and ReverseSequence keep the shape", () => {
    expect(
      shown({ type: "TensorScatter", opset: 24, inputs: [float(n, 8, 512, 64), float(n, 8, 1, 64)] }),
    ).toBe("float32[N,8,512,64]");
    expect(shown({ type: "ReverseSequence", inputs: [float(s, n), computed(n)] })).toBe("float32[S,N]");
  });

  test("OneHot adds an axis", () => {
    const values = float(2);
    expect(shown({ type: "OneHot", inputs: [tensor("int64", [n, 4]), scalar(10), values] })).toBe(
      "float32[N,4,10]",
    );
    const depth = tensor("float32", [1], [10]);
    expect(
      shown({ type: "OneHot", inputs: [tensor("int64", [n]), depth, values], attributes: { axis: 0 } }),
    ).toBe("float32[10,N]");
    expect(shown({ type: "OneHot", inputs: [tensor("int64", [n]), tensor("int64", []), values] })).toBe(
      "float32[N,?]",
    );
  });
});
