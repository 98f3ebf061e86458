import { describe, expect, test } from "vitest";
import { addDims, type Dim, mulDims, symbol } from "../../src/ir/dim.ts";
import type { DType } from "../../src/ir/dtype.ts";
import { ShapeError, type TensorFact } from "../../src/ops/op.ts";
import { tensor } from "../../src/ops/shape.ts";
import { type ContextOptions, infer, inferTensor, show, unknown } from "./context.ts";

const N = symbol("N");
const vector = (dtype: DType, ...elements: Dim[]) => tensor(dtype, [elements.length], elements);
const ints = (...elements: Dim[]) => vector("int64", ...elements);
const floats = (...elements: Dim[]) => vector("float32", ...elements);

function fold(type: string, inputs: readonly TensorFact[], options: Partial<ContextOptions> = {}): string {
  return show(inferTensor({ type, inputs, ...options }));
}

describe("shape and type", () => {
  test("a function of one element keeps both", () => {
    for (const type of ["Abs", "Erf", "Gelu", "Mish", "Swish", "Tanh", "HardSwish", "ThresholdedRelu"]) {
      expect(fold(type, [tensor("float16", [2, N])])).toBe("float16[2,N]");
    }
  });

  test("inputs broadcast, and keep symbols", () => {
    expect(fold("Add", [tensor("float32", [N, 1, 3]), tensor("float32", [4, 1])])).toBe("float32[N,4,3]");
    expect(fold("Max", [tensor("float32", [N]), tensor("float32", [2, 1]), tensor("float32", [])])).toBe(
      "float32[2,N]",
    );
    expect(fold("Add", [tensor("float32", undefined), tensor("float32", [4])])).toBe("float32[*]");
    expect(() => fold("Mul", [tensor("float32", [2]), tensor("float32", [3])])).toThrow(ShapeError);
  });

  test("comparisons and tests give booleans", () => {
    expect(fold("Less", [tensor("int32", [N]), tensor("int32", [])])).toBe("bool[N]");
    expect(fold("IsNaN", [tensor("float32", [2])])).toBe("bool[2]");
    expect(fold("IsInf", [tensor("float32", [2])])).toBe("bool[2]");
    expect(fold("Where", [tensor("bool", [3, 1]), tensor("float16", [4]), tensor("float16", [])])).toBe(
      "float16[3,4]",
    );
  });

  test("an unknown type or rank of one input does not lose the rest", () => {
    expect(fold("Add", [tensor(undefined, [2]), tensor("float16", [2])])).toBe("float16[2]");
    expect(fold("Pow", [tensor("float32", [2]), tensor("int64", [])])).toBe("float32[2]");
    expect(show(infer({ type: "Relu", inputs: [] })[0])).toBe("?[*]");
    expect(show(infer({ type: "Add", inputs: [{ kind: "map" }, tensor("float32", [2])] })[0])).toBe(
      "float32[*]",
    );
  });

  test("PRelu's slope broadcasts to the input only", () => {
    expect(fold("PRelu", [tensor("float32", [N, 4, 8]), tensor("float32", [4, 1])])).toBe("float32[N,4,8]");
    expect(() => fold("PRelu", [tensor("float32", [4]), tensor("float32", [2, 4])])).toThrow(
      "slope [2,4] does not broadcast to the input [4]",
    );
  });

  test("SwiGLU wants one shape", () => {
    expect(fold("SwiGLU", [tensor("float16", [N, 8]), tensor("float16", [2, 8])])).toBe("float16[2,8]");
    expect(() => fold("SwiGLU", [tensor("float16", [1, 8]), tensor("float16", [2, 8])])).toThrow(ShapeError);
  });

  test("BitCast wants one width", () => {
    expect(fold("BitCast", [tensor("float32", [2])], { attributes: { to: 6 } })).toBe("int32[2]");
    expect(() => fold("BitCast", [tensor("float32", [2])], { attributes: { to: 7 } })).toThrow("32 bits");
  });

  test("Dropout's mask is boolean from opset 10 on", () => {
    const inputs = [ints(1, 2)];
    expect(infer({ type: "Dropout", opset: 9, inputs }).map(show)).toEqual(["int64[2] = 1,2", "int64[2]"]);
    expect(infer({ type: "Dropout", opset: 13, inputs }).map(show)).toEqual(["int64[2] = 1,2", "bool[2]"]);
    const training = [...inputs, tensor("float32", []), tensor("bool", [], [1])];
    expect(infer({ type: "Dropout", opset: 13, inputs: training }).map(show)).toEqual([
      "int64[2]",
      "bool[2]",
    ]);
  });

  test("Identity passes what is not a tensor", () => {
    const sequence = { kind: "sequence", element: tensor("int8", [2]) } as const;
    expect(infer({ type: "Identity", inputs: [sequence] })).toEqual([sequence]);
  });
});

describe("whole numbers fold exactly", () => {
  test.each([
    ["Add", 7, -2, 5],
    ["Sub", 7, -2, 9],
    ["Mul", 7, -2, -14],
    ["Div", 7, -2, -3],
    ["Mod", 7, -2, -1],
    ["Mod", -7, 2, 1],
    ["Pow", 7, 2, 49],
    ["Max", 7, -2, 7],
    ["Min", 7, -2, -2],
    ["BitwiseAnd", 6, 3, 2],
    ["BitwiseOr", 6, 3, 7],
    ["BitwiseXor", 6, 3, 5],
  ])("%s(%d, %d) = %d", (type, a, b, expected) => {
    expect(fold(type, [ints(a), ints(b)])).toBe(`int64[1] = ${expected}`);
  });

  test("Mod takes the sign of the dividend with fmod", () => {
    expect(fold("Mod", [ints(7, -7), ints(-2, 2)], { attributes: { fmod: 1 } })).toBe("int64[2] = 1,-1");
  });

  test("elements broadcast", () => {
    const matrix = tensor("int64", [2, 3], [1, 2, 3, 4, 5, 6]);
    expect(fold("Mul", [matrix, ints(1, 10, 100)])).toBe("int64[2,3] = 1,20,300,4,50,600");
    expect(fold("Sub", [matrix, tensor("int64", [2, 1], [1, 2])])).toBe("int64[2,3] = 0,1,2,2,3,4");
    expect(fold("Add", [tensor("int64", [2, 1], [1, 2]), ints(10, 20)])).toBe("int64[2,2] = 11,21,12,22");
    expect(fold("Sum", [ints(1), ints(2), ints(3, 4)])).toBe("int64[2] = 6,7");
    expect(fold("Add", [tensor("int64", [0], []), ints(1)])).toBe("int64[0] = ");
  });

  test("narrow types wrap, and what a double cannot hold is unknown", () => {
    expect(fold("Add", [vector("int8", 127), vector("int8", 1)])).toBe("int8[1] = -128");
    expect(fold("Sub", [vector("uint8", 0), vector("uint8", 1)])).toBe("uint8[1] = 255");
    expect(fold("Sub", [vector("uint64", 0), vector("uint64", 1)])).toBe("uint64[1] = ?");
    expect(fold("Mul", [ints(2 ** 40), ints(2 ** 40)])).toBe("int64[1] = ?");
    expect(fold("Div", [ints(1), ints(0)])).toBe("int64[1] = ?");
    expect(fold("BitwiseNot", [vector("uint8", 5)])).toBe("uint8[1] = 250");
    const direction = { attributes: { direction: "LEFT" } };
    expect(fold("BitShift", [vector("uint8", 255), vector("uint8", 1)], direction)).toBe("uint8[1] = 254");
    expect(
      fold("BitShift", [vector("uint8", 255), vector("uint8", 9)], { attributes: { direction: "RIGHT" } }),
    ).toBe("uint8[1] = 0");
  });

  test("the largest int64 passes through a choice", () => {
    const last = 2 ** 63;
    expect(fold("Min", [ints(last), ints(5)])).toBe("int64[1] = 5");
    expect(fold("Where", [vector("bool", 1), ints(last), ints(0)])).toBe(`int64[1] = ${last}`);
  });

  test("more elements than are kept are dropped", () => {
    const row = tensor("int64", [100], new Array<number>(100).fill(1));
    const column = tensor("int64", [100, 1], new Array<number>(100).fill(1));
    expect(inferTensor({ type: "Add", inputs: [row, column] })).toEqual(tensor("int64", [100, 100]));
  });
});

describe("floats fold as their type rounds", () => {
  test("float32", () => {
    expect(inferTensor({ type: "Add", inputs: [floats(0.1), floats(0.2)] }).elements).toEqual([
      Math.fround(0.1 + 0.2),
    ]);
    expect(fold("Round", [floats(0.5, 1.5, -0.5, 2.4, 2.6)])).toBe("float32[5] = 0,2,0,2,3");
    expect(fold("Mod", [floats(5.5), floats(-2)], { attributes: { fmod: 1 } })).toBe("float32[1] = 1.5");
    expect(fold("Div", [floats(1), floats(0)])).toBe("float32[1] = Infinity");
    expect(fold("Mean", [floats(1), floats(2)])).toBe("float32[1] = 1.5");
    expect(fold("Sqrt", [floats(16)])).toBe("float32[1] = 4");
    expect(fold("Reciprocal", [floats(4)])).toBe("float32[1] = 0.25");
    expect(fold("Pow", [floats(64), vector("float64", 0.5)])).toBe("float32[1] = 8");
    expect(fold("Pow", [floats(64), floats(0.3)])).toBe("float32[1] = ?");
  });

  test("half types round to their own precision", () => {
    const sum = (dtype: DType) => fold("Add", [vector(dtype, 2048), vector(dtype, 1)]);
    expect(sum("float16")).toBe("float16[1] = 2048");
    expect(sum("bfloat16")).toBe("bfloat16[1] = 2048");
    expect(fold("Mul", [vector("float16", 65504), vector("float16", 2)])).toBe("float16[1] = Infinity");
    expect(fold("Mul", [vector("float16", 2 ** -14), vector("float16", 0.5)])).toBe(
      `float16[1] = ${2 ** -15}`,
    );
    expect(fold("Mul", [vector("bfloat16", 1.0078125), vector("bfloat16", 1.0078125)])).toBe(
      "bfloat16[1] = 1.015625",
    );
    expect(fold("Add", [vector("float8e5m2", 1), vector("float8e5m2", 1)])).toBe("float8e5m2[1] = ?");
  });
});

describe("Cast", () => {
  const to = (code: number) => ({ attributes: { to: code } });

  test("between numbers", () => {
    expect(fold("Cast", [floats(2.9, -2.9)], to(7))).toBe("int64[2] = 2,-2");
    expect(fold("Cast", [ints(16777217)], to(1))).toBe("float32[1] = 16777216");
    expect(fold("Cast", [ints(300)], to(2))).toBe("uint8[1] = 44");
    expect(fold("Cast", [floats(300)], to(2))).toBe("uint8[1] = ?");
    expect(fold("Cast", [floats(Number.NaN)], to(7))).toBe("int64[1] = ?");
    expect(fold("Cast", [floats(0.5, 0)], to(9))).toBe("bool[2] = 1,0");
    expect(fold("Cast", [floats(1)], to(8))).toBe("string[1] = ?");
    expect(fold("Cast", [tensor("string", [2])], to(1))).toBe("float32[2]");
    expect(fold("Cast", [ints(1)], to(99))).toBe("?[1]");
  });

  test("sizes stay symbols", () => {
    expect(fold("Cast", [ints(N)], to(1))).toBe("float32[1] = N");
    expect(fold("Cast", [ints(addDims(N, 1), N)], to(9))).toBe("bool[2] = 1,?");
    expect(fold("CastLike", [ints(N), tensor("float64", undefined)])).toBe("float64[1] = N");
  });
});

describe("symbols", () => {
  test("arithmetic", () => {
    expect(fold("Add", [ints(N), ints(N)])).toBe("int64[1] = 2*N");
    expect(fold("Sub", [ints(N), ints(N)])).toBe("int64[1] = 0");
    expect(fold("Div", [ints(mulDims(N, 6)), ints(3)])).toBe("int64[1] = 2*N");
    expect(fold("Div", [ints(addDims(N, -1)), ints(2)])).toBe("int64[1] = floordiv(N + 1, 2) - 1");
    expect(fold("Div", [ints(addDims(N, -5)), ints(2)])).toBe("int64[1] = ?");
    expect(fold("Mod", [ints(mulDims(N, 6)), ints(3)])).toBe("int64[1] = 0");
    expect(fold("Neg", [ints(N)])).toBe("int64[1] = -N");
    expect(fold("Pow", [ints(N), ints(2)])).toBe("int64[1] = N*N");
    expect(fold("Max", [ints(N), ints(0)])).toBe("int64[1] = N");
    expect(fold("Min", [ints(N), ints(addDims(N, 1))])).toBe("int64[1] = N");
    expect(fold("Min", [ints(N), ints(4)])).toBe("int64[1] = min(4, N)");
    expect(
      fold(
        "Clip",
        [ints(N), tensor("int64", [], [0]), undefined].filter((x) => x !== undefined),
      ),
    ).toBe("int64[1] = N");
  });

  test("through floats, where a whole number comes back", () => {
    expect(fold("Mul", [floats(N), floats(2)])).toBe("float32[1] = 2*N");
    expect(fold("Mul", [floats(mulDims(N, 4)), floats(0.5)])).toBe("float32[1] = 2*N");
    expect(fold("Mul", [floats(N), floats(0.5)])).toBe("float32[1] = ?");
    expect(fold("Div", [floats(N), floats(2)])).toBe("float32[1] = ?");
    expect(fold("Floor", [floats(N)])).toBe("float32[1] = N");
  });

  test("a size is never negative, so exporters' -1 test is decided", () => {
    const isDeferred = inferTensor({ type: "Equal", inputs: [ints(N, -1, 4), ints(-1)] });
    expect(show(isDeferred)).toBe("bool[3] = 0,1,0");
    expect(fold("Where", [isDeferred, ints(1, 1, 1), ints(N, -1, 4)])).toBe("int64[3] = N,1,4");
  });

  test("comparisons that depend on the size stay open", () => {
    expect(fold("Equal", [ints(N), ints(N)])).toBe("bool[1] = 1");
    expect(fold("Equal", [ints(N), ints(3)])).toBe("bool[1] = ?");
    expect(fold("Less", [ints(N), ints(addDims(N, 1))])).toBe("bool[1] = 1");
    expect(fold("Greater", [ints(N), ints(0)])).toBe("bool[1] = ?");
    expect(fold("GreaterOrEqual", [ints(N), ints(0)])).toBe("bool[1] = 1");
    expect(fold("LessOrEqual", [floats(Number.NaN), floats(1)])).toBe("bool[1] = 0");
    expect(fold("Equal", [ints(unknown), ints(-1)])).toBe("bool[1] = ?");
  });

  test("one side decides And and Or; equal branches decide Where", () => {
    const bools = (...elements: Dim[]) => vector("bool", ...elements);
    expect(fold("And", [bools(0, 1, unknown), bools(unknown, unknown, 0)])).toBe("bool[3] = 0,?,0");
    expect(fold("Or", [bools(1, 0, 0), bools(unknown, unknown, 0)])).toBe("bool[3] = 1,?,0");
    expect(fold("Xor", [bools(1, 1), bools(1, 0)])).toBe("bool[2] = 0,1");
    expect(fold("Not", [bools(0, 1, unknown)])).toBe("bool[3] = 1,0,?");
    expect(fold("Where", [bools(unknown, unknown), ints(N, 1), ints(N, 2)])).toBe("int64[2] = N,?");
  });
});

test("Clip bounds by attributes before opset 11, by inputs since", () => {
  const attributes = { min: 0, max: 6 };
  expect(fold("Clip", [floats(-1, 3, 9)], { opset: 7, attributes })).toBe("float32[3] = 0,3,6");
  expect(fold("Clip", [floats(-1, 9), tensor("float32", [], [0])], { opset: 13 })).toBe("float32[2] = 0,9");
  const unknownBound = tensor("float32", []);
  expect(fold("Clip", [floats(-1), unknownBound], { opset: 13 })).toBe("float32[1] = ?");
});
