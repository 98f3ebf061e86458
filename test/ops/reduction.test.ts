import { describe, expect, test } from "vitest";
import { addDims, type Dim, symbol } from "../../src/ir/dim.ts";
import { ShapeError, type TensorFact } from "../../src/ops/op.ts";
import { tensor } from "../../src/ops/shape.ts";
import { type ContextOptions, infer, inferTensor, show, workOf } from "./context.ts";

const N = symbol("N");
const ints = (...elements: Dim[]) => tensor("int64", [elements.length], elements);

function shapeOf(
  type: string,
  inputs: readonly (TensorFact | undefined)[],
  options: Partial<ContextOptions> = {},
) {
  return show(inferTensor({ type, inputs, ...options }));
}

describe("Reduce*", () => {
  const x = tensor("float32", [2, N, 4]);

  test("axes are an attribute before opset 18 (ReduceSum: 13), an input since", () => {
    const attributes = { axes: [1] };
    expect(shapeOf("ReduceMean", [x], { opset: 17, attributes })).toBe("float32[2,1,4]");
    expect(shapeOf("ReduceMean", [x, ints(-1)], { opset: 18 })).toBe("float32[2,N,1]");
    expect(shapeOf("ReduceSum", [x], { opset: 12, attributes })).toBe("float32[2,1,4]");
    expect(shapeOf("ReduceSum", [x, ints(1, 2)], { opset: 13 })).toBe("float32[2,1,1]");
  });

  test("without axes everything is reduced, unless the node says nothing is", () => {
    expect(shapeOf("ReduceMax", [x])).toBe("float32[1,1,1]");
    expect(shapeOf("ReduceMax", [x], { attributes: { keepdims: 0 } })).toBe("float32[]");
    expect(shapeOf("ReduceMax", [x, ints()])).toBe("float32[1,1,1]");
    expect(shapeOf("ReduceMax", [x, ints()], { attributes: { noop_with_empty_axes: 1 } })).toBe(
      "float32[2,N,4]",
    );
  });

  test("as much as the unknown leaves", () => {
    const unknownAxes = tensor("int64", [2]);
    expect(shapeOf("ReduceL2", [x, unknownAxes])).toBe("float32[?,?,?]");
    expect(shapeOf("ReduceL2", [x, unknownAxes], { attributes: { keepdims: 0 } })).toBe("float32[?]");
    expect(shapeOf("ReduceL2", [x, tensor("int64", undefined)], { attributes: { keepdims: 0 } })).toBe(
      "float32[*]",
    );
    expect(shapeOf("ReduceL2", [tensor("float16", undefined)], { attributes: { keepdims: 0 } })).toBe(
      "float16[]",
    );
    expect(() => shapeOf("ReduceL2", [x, ints(3)])).toThrow(ShapeError);
  });

  test("whole numbers and symbols fold", () => {
    const sizes = tensor("int64", [2, 2], [2, N, 3, 4]);
    const over = (axes: TensorFact | undefined, type: string) =>
      shapeOf(type, [sizes, axes], { attributes: { keepdims: 0 } });
    expect(over(ints(0), "ReduceProd")).toBe("int64[2] = 6,4*N");
    expect(over(ints(1), "ReduceSum")).toBe("int64[2] = N + 2,7");
    expect(over(undefined, "ReduceProd")).toBe("int64[] = 24*N");
    expect(shapeOf("ReduceMax", [ints(3, 9, -1)])).toBe("int64[1] = 9");
    expect(shapeOf("ReduceMin", [ints(N, addDims(N, 2))])).toBe("int64[1] = N");
    expect(shapeOf("ReduceSum", [ints()])).toBe("int64[1]");
    expect(shapeOf("ReduceMax", [tensor("float32", [2], [1, 2])])).toBe("float32[1]");
    expect(shapeOf("ReduceSum", [tensor("uint8", [2], [200, 100])])).toBe("uint8[1] = 44");
  });

  test("rows are what is kept, columns what is reduced", () => {
    expect(workOf({ type: "ReduceMean", inputs: [tensor("float16", [2, 3, 4]), ints(1)] })).toEqual([
      {
        kind: "traffic",
        pattern: "reduction",
        rows: 8,
        columns: 3,
        bytesRead: 2 * 24 + 8,
        bytesWritten: 2 * 8,
        dtype: "float16",
      },
    ]);
    expect(workOf({ type: "ReduceMean", inputs: [tensor("float16", undefined)] })).toBeUndefined();
    expect(workOf({ type: "ReduceMean", inputs: [x, ints(2)] })?.map(({ kind }) => kind)).toEqual([
      "traffic",
    ]);
  });
});

describe("ArgMax and TopK", () => {
  test("ArgMax gives indices along one axis, the first by default", () => {
    expect(shapeOf("ArgMax", [tensor("float32", [N, 4])])).toBe("int64[1,4]");
    expect(shapeOf("ArgMin", [tensor("float32", [N, 4])], { attributes: { axis: -1, keepdims: 0 } })).toBe(
      "int64[N]",
    );
    expect(() => shapeOf("ArgMax", [tensor("float32", [])])).toThrow(ShapeError);
  });

  test("TopK takes its count from an attribute before opset 10, from an input since", () => {
    const x = tensor("float16", [N, 8]);
    const topK = (options: Partial<ContextOptions>) =>
      infer({ type: "TopK", outputCount: 2, ...options }).map(show);
    expect(topK({ opset: 9, attributes: { k: 3 }, inputs: [x] })).toEqual(["float16[N,3]", "int64[N,3]"]);
    expect(topK({ opset: 11, attributes: { axis: 0 }, inputs: [x, ints(N)] })).toEqual([
      "float16[N,8]",
      "int64[N,8]",
    ]);
    expect(topK({ inputs: [x, tensor("int64", [1])] })).toEqual(["float16[N,?]", "int64[N,?]"]);
    expect(() => topK({ inputs: [x, ints(9)] })).toThrow("k is 9, expected at most the 8 elements of axis 1");
  });
});

describe("Softmax", () => {
  const rowsOf = (options: Partial<ContextOptions>) => {
    const [work] = workOf({ type: "Softmax", inputs: [tensor("float32", [2, 3, 5])], ...options }) ?? [];
    return work?.kind === "traffic" ? [work.pattern, work.rows, work.columns] : undefined;
  };

  test("normalizes one axis since opset 13, all from `axis` on before", () => {
    expect(rowsOf({ opset: 13 })).toEqual(["normalization", 6, 5]);
    expect(rowsOf({ opset: 13, attributes: { axis: 1 } })).toEqual(["normalization", 10, 3]);
    expect(rowsOf({ opset: 12 })).toEqual(["normalization", 2, 15]);
    expect(rowsOf({ opset: 12, attributes: { axis: 3 } })).toEqual(["normalization", 30, 1]);
  });

  test("keeps type and shape, and wants an axis of the input", () => {
    for (const type of ["Softmax", "LogSoftmax", "Hardmax"]) {
      expect(shapeOf(type, [tensor("bfloat16", [N, 4])])).toBe("bfloat16[N,4]");
      expect(() =>
        shapeOf(type, [tensor("bfloat16", [N, 4])], { attributes: { axis: 2 }, opset: 13 }),
      ).toThrow(ShapeError);
    }
  });
});

describe("CumSum and CumProd", () => {
  const matrix = tensor("int64", [2, 3], [1, 2, 3, 4, 5, 6]);
  const axis = (value: number) => tensor("int64", [], [value]);

  test("fold along either axis, in either direction", () => {
    expect(shapeOf("CumSum", [matrix, axis(1)])).toBe("int64[2,3] = 1,3,6,4,9,15");
    expect(shapeOf("CumSum", [matrix, axis(0)])).toBe("int64[2,3] = 1,2,3,5,7,9");
    expect(shapeOf("CumSum", [matrix, axis(-1)], { attributes: { reverse: 1 } })).toBe(
      "int64[2,3] = 6,5,3,15,11,6",
    );
    expect(shapeOf("CumSum", [matrix, axis(1)], { attributes: { exclusive: 1 } })).toBe(
      "int64[2,3] = 0,1,3,0,4,9",
    );
    expect(shapeOf("CumProd", [matrix, axis(1)], { attributes: { exclusive: 1 } })).toBe(
      "int64[2,3] = 1,1,2,1,4,20",
    );
    expect(shapeOf("CumProd", [ints(2, N), axis(0)])).toBe("int64[2] = 2,2*N");
  });

  test("keep only the shape where elements are not known", () => {
    expect(shapeOf("CumSum", [tensor("float32", [N]), axis(0)])).toBe("float32[N]");
    expect(shapeOf("CumSum", [matrix, tensor("int64", [])])).toBe("int64[2,3]");
  });
});
