import { describe, expect, test } from "vitest";
import { addDims, type Dim, mulDims, type Shape, symbol } from "../../src/ir/dim.ts";
import { ShapeError, type TensorFact } from "../../src/ops/op.ts";
import { tensor } from "../../src/ops/shape.ts";
import { type ContextOptions, infer, inferTensor, show, unknown, workOf } from "./context.ts";

const n = symbol("N");
const s = symbol("S");
const p = symbol("P");
/** INT64_MAX as a double. */
const farEnd = 2 ** 63;

const float = (...shape: Dim[]) => tensor("float32", shape);
const ints = (...elements: Dim[]) => tensor("int64", [elements.length], elements);
const scalar = (element: Dim) => tensor("int64", [], [element]);
/** A vector whose elements only running the model would tell. */
const computed = (length: Dim) => tensor("int64", [length]);
const anyRank = tensor("float32", undefined);

const shown = (options: ContextOptions) => show(inferTensor(options));
const allShown = (options: ContextOptions) => infer(options).map(show);

describe("shapes as values", () => {
  test("Shape gives sizes, symbols among them, of a range of axes", () => {
    const inputs = [float(n, 3, 224)];
    expect(shown({ type: "Shape", inputs })).toBe("int64[3] = N,3,224");
    expect(shown({ type: "Shape", inputs, attributes: { start: 1 } })).toBe("int64[2] = 3,224");
    expect(shown({ type: "Shape", inputs, attributes: { start: -9, end: -1 } })).toBe("int64[2] = N,3");
    expect(shown({ type: "Shape", inputs, attributes: { start: 2, end: 1 } })).toBe("int64[0] = ");
    expect(shown({ type: "Shape", inputs: [anyRank] })).toBe("int64[?]");
  });

  test("Size multiplies", () => {
    expect(shown({ type: "Size", inputs: [float(n, 3, 4)] })).toBe("int64[] = 12*N");
    expect(shown({ type: "Size", inputs: [anyRank] })).toBe("int64[]");
  });

  test.each<[NonNullable<ContextOptions["attributes"]>, string]>([
    [{ value: tensor("float16", [2], [1, 2]) }, "float16[2] = 1,2"],
    [{ value_int: 7 }, "int64[] = 7"],
    [{ value_ints: [7, 8] }, "int64[2] = 7,8"],
    [{ value_float: { float: 0.5 } }, "float32[] = 0.5"],
    [{ value_floats: [0.5] }, "float32[1] = 0.5"],
    [{ value_string: "x" }, "string[]"],
    [{ value_strings: ["x", "y"] }, "string[2]"],
    [{}, "?[*]"],
  ])("Constant %o", (attributes, expected) => {
    expect(shown({ type: "Constant", attributes })).toBe(expected);
  });

  test("ConstantOfShape repeats its value", () => {
    expect(shown({ type: "ConstantOfShape", inputs: [ints(2, 2)] })).toBe("float32[2,2] = 0,0,0,0");
    const value = tensor("int64", [1], [5]);
    expect(shown({ type: "ConstantOfShape", attributes: { value }, inputs: [ints(n)] })).toBe("int64[N]");
    expect(shown({ type: "ConstantOfShape", inputs: [computed(2)] })).toBe("float32[?,?]");
    expect(shown({ type: "ConstantOfShape", inputs: [ints()] })).toBe("float32[] = 0");
    expect(() => infer({ type: "ConstantOfShape", inputs: [ints(-1)] })).toThrow(ShapeError);
  });

  test("Range counts, and keeps symbols", () => {
    const range = (...inputs: TensorFact[]) => shown({ type: "Range", inputs });
    expect(range(scalar(3), scalar(10), scalar(3))).toBe("int64[3] = 3,6,9");
    expect(range(scalar(5), scalar(0), scalar(-2))).toBe("int64[3] = 5,3,1");
    expect(range(scalar(5), scalar(0), scalar(1))).toBe("int64[0] = ");
    expect(range(scalar(0), scalar(n), scalar(1))).toBe("int64[N]");
    expect(range(scalar(p), scalar(addDims(p, s)), scalar(1))).toBe("int64[S]");
    expect(range(scalar(p), scalar(addDims(p, 2)), scalar(1))).toBe("int64[2] = P,P + 1");
    expect(range(tensor("int64", []), scalar(0), scalar(1))).toBe("int64[?]");
    const floats = [0, 1, 0.25].map((value) => tensor("float32", [], [value]));
    expect(range(...floats)).toBe("float32[4]");
    expect(() => range(scalar(0), scalar(1), scalar(0))).toThrow(ShapeError);
  });
});

describe("views", () => {
  const reshape = (input: TensorFact, target: TensorFact, allowzero = 0) =>
    shown({ type: "Reshape", inputs: [input, target], attributes: { allowzero } });

  test("Reshape copies 0 and infers -1", () => {
    expect(reshape(float(2, 3, 4), ints(0, -1))).toBe("float32[2,12]");
    expect(reshape(float(n, 12, 8, 8), ints(0, 3, -1, 8))).toBe("float32[N,3,32,8]");
    expect(reshape(float(n, s, 768), ints(n, s, 12, 64))).toBe("float32[N,S,12,64]");
    expect(reshape(float(n, s, 768), ints(-1, 768))).toBe("float32[N*S,768]");
    expect(reshape(float(mulDims(n, s), 768), ints(n, -1, 768))).toBe("float32[N,S,768]");
    expect(reshape(float(0, 3), ints(3, 0), 1)).toBe("float32[3,0]");
    expect(reshape(float(n, 3), ints(2, -1))).toBe("float32[2,floordiv(3*N, 2)]");
  });

  test("Reshape cancels a sum that both sides share", () => {
    const sum = addDims(s, p);
    expect(reshape(float(n, sum, addDims(n, 1), 64), ints(-1, sum, 64))).toBe("float32[N + N*N,P + S,64]");
  });

  test("the only size nobody knows follows from the others", () => {
    expect(reshape(float(n, 6), ints(unknown, 6))).toBe("float32[N,6]");
    expect(reshape(float(n, 6), ints(unknown, unknown, 6))).toBe("float32[?,?,6]");
  });

  test("Reshape with an unknown side keeps the rank", () => {
    expect(reshape(float(2, 3), computed(3))).toBe("float32[?,?,?]");
    expect(reshape(float(n, 3), computed(1))).toBe("float32[3*N]");
    expect(reshape(anyRank, ints(0, -1, 4))).toBe("float32[?,?,4]");
    expect(reshape(anyRank, computed(unknown))).toBe("float32[*]");
  });

  test.each<[string, TensorFact, TensorFact]>([
    ["elements differ", float(2, 3), ints(7)],
    ["does not divide", float(2, 3), ints(4, -1)],
    ["two open axes", float(2, 3), ints(-1, -1)],
    ["below -1", float(2, 3), ints(-2, 3)],
    ["0 beyond the rank", float(2, 3), ints(2, 3, 0)],
  ])("Reshape contradicts: %s", (_, input, target) => {
    expect(() => reshape(input, target)).toThrow(ShapeError);
  });

  test("Flatten", () => {
    const flatten = (input: TensorFact, axis?: number) =>
      shown({ type: "Flatten", inputs: [input], attributes: axis === undefined ? {} : { axis } });
    expect(flatten(float(n, 3, 4))).toBe("float32[N,12]");
    expect(flatten(float(n, 3, 4), 0)).toBe("float32[1,12*N]");
    expect(flatten(float(n, 3, 4), 3)).toBe("float32[12*N,1]");
    expect(flatten(float(n, 3, 4), -1)).toBe("float32[3*N,4]");
    expect(flatten(anyRank)).toBe("float32[?,?]");
    expect(() => flatten(float(2), 2)).toThrow(ShapeError);
  });

  test("Squeeze and Unsqueeze take axes from where their opset has them", () => {
    const attribute = { opset: 11, attributes: { axes: [0, -1] } };
    expect(shown({ type: "Squeeze", ...attribute, inputs: [float(1, n, 1)] })).toBe("float32[N]");
    expect(shown({ type: "Squeeze", inputs: [float(1, n, 1), ints(0)] })).toBe("float32[N,1]");
    expect(shown({ type: "Squeeze", inputs: [float(1, 3, 1)] })).toBe("float32[3]");
    expect(shown({ type: "Squeeze", inputs: [float(1, n, 1)] })).toBe("float32[*]");
    expect(shown({ type: "Squeeze", inputs: [float(1, n, 1), computed(2)] })).toBe("float32[?]");
    expect(shown({ type: "Unsqueeze", ...attribute, inputs: [float(n)] })).toBe("float32[1,N,1]");
    expect(shown({ type: "Unsqueeze", inputs: [scalar(n), ints(0)] })).toBe("int64[1] = N");
    expect(shown({ type: "Unsqueeze", inputs: [float(n), computed(2)] })).toBe("float32[?,?,?]");
    expect(() => infer({ type: "Squeeze", inputs: [float(2, 3), ints(0)] })).toThrow(/size is 2, not 1/);
    expect(() => infer({ type: "Unsqueeze", inputs: [float(2), ints(0, 0)] })).toThrow(ShapeError);
    expect(() => infer({ type: "Unsqueeze", inputs: [float(2), ints(3)] })).toThrow(ShapeError);
  });

  test("Transpose", () => {
    const perm = [0, 2, 1];
    expect(shown({ type: "Transpose", inputs: [float(n, 3, 4)], attributes: { perm } })).toBe(
      "float32[N,4,3]",
    );
    expect(shown({ type: "Transpose", inputs: [float(n, 3, 4)] })).toBe("float32[4,3,N]");
    expect(shown({ type: "Transpose", inputs: [anyRank], attributes: { perm } })).toBe("float32[?,?,?]");
    expect(() => infer({ type: "Transpose", inputs: [float(2, 3)], attributes: { perm } })).toThrow(
      ShapeError,
    );
    expect(() => infer({ type: "Transpose", inputs: [float(2, 3)], attributes: { perm: [0, 0] } })).toThrow(
      ShapeError,
    );
  });

  test("a Transpose costs one pass in its contiguous runs, and nothing where only axes of size 1 move", () => {
    const work = (input: TensorFact, perm: number[]) =>
      workOf({ type: "Transpose", inputs: [input], attributes: { perm } });
    const bytes = mulDims(n, 12 * 8 * 64 * 4);
    expect(work(float(n, 12, 8, 64), [0, 2, 1, 3])).toEqual([
      {
        kind: "traffic",
        pattern: "copy",
        rows: mulDims(n, 96),
        columns: 64,
        bytesRead: bytes,
        bytesWritten: bytes,
        dtype: "float32",
      },
    ]);
    expect(work(float(2, 3, 4), [0, 2, 1])).toMatchObject([{ rows: 24, columns: 1 }]);
    expect(work(float(1, 3, 4), [1, 0, 2])).toEqual([]);
    expect(work(anyRank, [0, 1])).toBeUndefined();
  });
});

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
    expect(() => split({ inputs: [float(7), ints(3, 3)] })).toThrow(/add up to 6, not 7/);
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

describe("growing, repeating and scaling", () => {
  test("Pad, of all axes or of some", () => {
    const pad = (input: TensorFact, pads: TensorFact, ...more: (TensorFact | undefined)[]) =>
      shown({ type: "Pad", inputs: [input, pads, ...more] });
    expect(pad(float(n, 3), ints(0, 1, 0, 2))).toBe("float32[N,6]");
    expect(pad(float(n, 3), ints(1, p), undefined, ints(0))).toBe("float32[N + P + 1,3]");
    expect(pad(float(n, 3), ints(-1, 1), undefined, ints(-1))).toBe("float32[N,3]");
    expect(pad(ints(1, 2), ints(1, 1), scalar(9))).toBe("int64[4] = 9,1,2,9");
    expect(pad(ints(1, 2, 3), ints(-1, 1))).toBe("int64[3] = 2,3,0");
    expect(pad(float(n, 3), computed(4))).toBe("float32[?,?]");
    expect(pad(anyRank, ints(0, 0))).toBe("float32[?]");
    const old = { opset: 10, attributes: { pads: [0, 1, 0, 1], mode: "reflect" } };
    expect(shown({ type: "Pad", ...old, inputs: [float(n, 3)] })).toBe("float32[N,5]");
    const reflected = { type: "Pad", attributes: { mode: "reflect" }, inputs: [ints(1, 2), ints(1, 0)] };
    expect(shown(reflected)).toBe("int64[3]");
    expect(() => pad(float(2, 3), ints(1, 1))).toThrow(/has 2 pads, not 4/);
    expect(() => pad(float(2), ints(-2, -1))).toThrow(ShapeError);
  });

  test("CenterCropPad", () => {
    const attributes = { axes: [-1] };
    expect(shown({ type: "CenterCropPad", attributes, inputs: [float(n, 3), ints(5)] })).toBe("float32[N,5]");
    expect(shown({ type: "CenterCropPad", attributes, inputs: [float(n, 3), computed(1)] })).toBe(
      "float32[N,?]",
    );
  });

  test("Expand broadcasts both ways", () => {
    const expand = (input: TensorFact, target: TensorFact) =>
      shown({ type: "Expand", inputs: [input, target] });
    expect(expand(float(1, 3), ints(n, 1, 1))).toBe("float32[N,1,3]");
    expect(expand(float(n, 1), ints(1, 4))).toBe("float32[N,4]");
    expect(expand(ints(1, 2), ints(2, 2))).toBe("int64[2,2] = 1,2,1,2");
    expect(expand(float(7, 1), computed(3))).toBe("float32[?,7,?]");
    expect(expand(float(7, 1), computed(unknown))).toBe("float32[*]");
    expect(() => expand(float(2), ints(3))).toThrow(ShapeError);
    expect(() => expand(float(2), ints(-1))).toThrow(ShapeError);
  });

  test("Tile", () => {
    const tile = (input: TensorFact, repeats: TensorFact) =>
      shown({ type: "Tile", inputs: [input, repeats] });
    expect(tile(float(n, 3), ints(2, s))).toBe("float32[2*N,3*S]");
    expect(tile(ints(1, 2), ints(2))).toBe("int64[4] = 1,2,1,2");
    expect(tile(float(n, 3), computed(2))).toBe("float32[?*N,3*?]");
    expect(tile(anyRank, computed(2))).toBe("float32[?*?,?*?]");
    expect(() => tile(float(2), ints(1, 1))).toThrow(ShapeError);
  });

  test("DepthToSpace and SpaceToDepth", () => {
    const attributes = { blocksize: 2 };
    expect(shown({ type: "DepthToSpace", attributes, inputs: [float(n, 12, 4, s)] })).toBe(
      "float32[N,3,8,2*S]",
    );
    expect(shown({ type: "SpaceToDepth", attributes, inputs: [float(n, 3, 8, 6)] })).toBe(
      "float32[N,12,4,3]",
    );
    expect(() => infer({ type: "DepthToSpace", attributes, inputs: [float(1, 6, 4, 4)] })).toThrow(
      ShapeError,
    );
    expect(() => infer({ type: "DepthToSpace", attributes, inputs: [float(8, 6)] })).toThrow(/rank 2, not 4/);
    expect(() => infer({ type: "SpaceToDepth", inputs: [float(1, 3, 8, 6)] })).toThrow(
      /blocksize is missing/,
    );
  });

  const factors = (...elements: number[]) => tensor("float32", [elements.length], elements);
  const none = tensor("float32", [0], []);

  test("Resize by scales", () => {
    const image = float(n, 3, 10, s);
    const scales = factors(1, 1, Math.fround(0.7), 2);
    expect(shown({ type: "Resize", inputs: [image, none, scales] })).toBe("float32[N,3,7,2*S]");
    expect(shown({ type: "Resize", opset: 10, inputs: [image, scales] })).toBe("float32[N,3,7,2*S]");
    expect(shown({ type: "Upsample", opset: 9, inputs: [image, scales] })).toBe("float32[N,3,7,2*S]");
    expect(shown({ type: "Upsample", opset: 7, attributes: { scales: [1, 1, 2, 2] }, inputs: [image] })).toBe(
      "float32[N,3,20,2*S]",
    );
    expect(shown({ type: "Resize", inputs: [image, none, factors(1, 1, 1, 0.5)] })).toBe(
      "float32[N,3,10,floordiv(S, 2)]",
    );
    expect(shown({ type: "Resize", inputs: [image, none, tensor("float32", [4])] })).toBe("float32[?,?,?,?]");
    expect(() => infer({ type: "Resize", inputs: [image, none, factors(2, 2)] })).toThrow(ShapeError);
  });

  test("Resize to sizes, of some axes, keeping the aspect ratio", () => {
    const image = float(n, 3, 10, 20);
    const to = (attributes: ContextOptions["attributes"], ...sizes: Dim[]) =>
      shown({
        type: "Resize",
        attributes: attributes ?? {},
        inputs: [image, undefined, undefined, ints(...sizes)],
      });
    expect(to({}, n, 3, 5, s)).toBe("float32[N,3,5,S]");
    expect(to({ axes: [3, 2] }, 40, 30)).toBe("float32[N,3,30,40]");
    expect(to({ axes: [2, 3], keep_aspect_ratio_policy: "not_larger" }, 7, 7)).toBe("float32[N,3,4,7]");
    expect(to({ axes: [2, 3], keep_aspect_ratio_policy: "not_smaller" }, 7, 7)).toBe("float32[N,3,7,14]");
    expect(to({ axes: [0, 3], keep_aspect_ratio_policy: "not_smaller" }, 7, 7)).toBe("float32[?,3,10,?]");
  });
});

test("shapes that exporters compute come out whole", () => {
  const input = float(n, s, 768);
  const sizes = inferTensor({ type: "Shape", inputs: [input] });
  const sizeAt = (index: number): TensorFact => {
    const one = inferTensor({ type: "Gather", inputs: [sizes, scalar(index)], attributes: { axis: 0 } });
    return inferTensor({ type: "Unsqueeze", inputs: [one, ints(0)] });
  };
  const parts = [sizeAt(0), sizeAt(1), ints(12), ints(64)];
  const target = inferTensor({ type: "Concat", inputs: parts, attributes: { axis: 0 } });
  const heads = inferTensor({ type: "Reshape", inputs: [input, target] });
  const swapped = inferTensor({ type: "Transpose", inputs: [heads], attributes: { perm: [0, 2, 1, 3] } });
  expect(show(swapped)).toBe("float32[N,12,S,64]");
  const merged = inferTensor({ type: "Reshape", inputs: [swapped, ints(-1, 64)] });
  expect(show(merged)).toBe("float32[12*N*S,64]");
});

test("more elements than are folded leave the shape alone", () => {
  const shape: Shape = [64, 65];
  expect(shown({ type: "ConstantOfShape", inputs: [ints(...shape)] })).toBe("float32[64,65]");
});
