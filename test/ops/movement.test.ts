import { describe, expect, test } from "vitest";
import { addDims, mulDims, type Shape } from "../../src/ir/dim.ts";
import { ShapeError, type TensorFact } from "../../src/ops/op.ts";
import { tensor } from "../../src/ops/shape.ts";
import { type ContextOptions, infer, inferTensor, show, unknown, workOf } from "./context.ts";
import { anyRank, computed, float, ints, n, p, s, scalar, shown } from "./tensors.ts";

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
