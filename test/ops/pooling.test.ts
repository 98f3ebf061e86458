import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { evaluateDim, symbol } from "../../src/ir/dim.ts";
import { ShapeError } from "../../src/ops/op.ts";
import { tensor } from "../../src/ops/shape.ts";
import { samePads, windowOutput } from "../../src/ops/window.ts";
import { type ContextOptions, infer, inferTensor, show, workOf } from "./context.ts";

const N = symbol("N");
const H = symbol("H");
const image = tensor("float16", [N, 3, 32, 33]);

function pool(
  attributes: NonNullable<ContextOptions["attributes"]>,
  type = "MaxPool",
  input = image,
): string {
  return show(inferTensor({ type, inputs: [input], attributes }));
}

describe("sliding windows", () => {
  /** Places windows one by one, as the operators' definitions describe it. */
  function countPositions(
    input: number,
    extent: number,
    stride: number,
    begin: number,
    end: number,
    ceil: boolean,
  ) {
    let count = 0;
    for (let start = 0; ; start += stride) {
      const fits = start + extent <= begin + input + end;
      // With ceil mode one partial window may follow, if it starts before the padding after the input.
      const partial = ceil && start < begin + input && start - stride + extent < begin + input + end;
      if (!fits && !partial) return count;
      if (ceil && start >= begin + input) return count;
      count += 1;
    }
  }

  const geometry = fc.record({
    input: fc.integer({ min: 1, max: 40 }),
    kernel: fc.integer({ min: 1, max: 7 }),
    stride: fc.integer({ min: 1, max: 5 }),
    dilation: fc.integer({ min: 1, max: 3 }),
    begin: fc.integer({ min: 0, max: 6 }),
    end: fc.integer({ min: 0, max: 6 }),
    ceil: fc.boolean(),
  });

  test("the formula counts the positions, for numbers and for symbols", () => {
    fc.assert(
      fc.property(geometry, ({ input, kernel, stride, dilation, begin, end, ceil }) => {
        const extent = (kernel - 1) * dilation + 1;
        // Padding as large as the window is not allowed: a window would see nothing else.
        fc.pre(begin < extent && end < extent && input + begin + end >= extent);
        const expected = countPositions(input, extent, stride, begin, end, ceil);
        expect(windowOutput(input, kernel, stride, dilation, begin, end, ceil)).toBe(expected);
        const symbolic = windowOutput(H, kernel, stride, dilation, begin, end, ceil);
        expect(evaluateDim(symbolic, new Map([["H", input]]))).toBe(expected);
      }),
    );
  });

  test("a window larger than the padded input is a contradiction, an empty input is not", () => {
    expect(() => windowOutput(2, 5, 1, 1, 1, 1)).toThrow(
      "a window of 5 does not fit into 2 elements padded by 1 and 1",
    );
    expect(windowOutput(0, 5, 1, 1, 1, 1)).toBe(0);
    // With ceil mode a partial window is one position.
    expect(windowOutput(4, 5, 3, 1, 0, 0, true)).toBe(1);
    expect(() => windowOutput(4, 5, 1, 1, 0, 0, true)).toThrow("a window of 5 does not fit into 4 elements");
  });

  test("equal sizes get equal expressions", () => {
    const halves = [
      windowOutput(H, 3, 2, 1, 1, 1),
      windowOutput(H, 1, 2, 1, 0, 0),
      windowOutput(H, 7, 2, 1, 3, 3),
      windowOutput(H, 2, 2, 1, 0, 0, true),
    ];
    expect(halves.map(String)).toEqual(new Array(4).fill("floordiv(H + 1, 2)"));
  });

  test("SAME pads give ⌈input / stride⌉ positions, the odd one at the end for UPPER", () => {
    expect(samePads(5, 4, 2, 1, "SAME_UPPER")).toEqual([1, 2]);
    expect(samePads(5, 4, 2, 1, "SAME_LOWER")).toEqual([2, 1]);
    expect(samePads(5, 1, 3, 1, "SAME_UPPER")).toEqual([0, 0]);
  });
});

describe("MaxPool, AveragePool, LpPool", () => {
  test("every auto_pad", () => {
    const kernel = { kernel_shape: [3, 3], strides: [2, 2] };
    expect(pool(kernel)).toBe("float16[N,3,15,16]");
    expect(pool({ ...kernel, pads: [1, 1, 1, 1] })).toBe("float16[N,3,16,17]");
    expect(pool({ ...kernel, auto_pad: "VALID" })).toBe("float16[N,3,15,16]");
    expect(pool({ ...kernel, auto_pad: "SAME_UPPER" })).toBe("float16[N,3,16,17]");
    expect(pool({ ...kernel, auto_pad: "SAME_LOWER" }, "LpPool")).toBe("float16[N,3,16,17]");
    expect(() => pool({ ...kernel, auto_pad: "FULL" })).toThrow('auto_pad is "FULL"');
  });

  test("dilations and ceil mode", () => {
    expect(pool({ kernel_shape: [2, 2], dilations: [2, 3] }, "AveragePool")).toBe("float16[N,3,30,30]");
    const kernel = { kernel_shape: [3, 3], strides: [2, 2] };
    expect(pool({ ...kernel, ceil_mode: 1 })).toBe("float16[N,3,16,16]");
    // The last window would start in the padding after the input.
    const small = tensor("float32", [1, 1, 2]);
    expect(pool({ kernel_shape: [1], strides: [2], pads: [0, 0], ceil_mode: 1 }, "MaxPool", small)).toBe(
      "float32[1,1,1]",
    );
  });

  test("indices come beside the maxima", () => {
    const outputs = infer({
      type: "MaxPool",
      inputs: [image],
      attributes: { kernel_shape: [32, 33] },
      outputCount: 2,
    });
    expect(outputs.map(show)).toEqual(["float16[N,3,1,1]", "int64[N,3,1,1]"]);
  });

  test("symbols stay", () => {
    const input = tensor("float32", [N, 3, H, H]);
    expect(pool({ kernel_shape: [2, 2], strides: [2, 2] }, "MaxPool", input)).toBe(
      "float32[N,3,floordiv(H, 2),floordiv(H, 2)]",
    );
  });

  test("contradictions, and as much as is known", () => {
    expect(() => pool({ kernel_shape: [3] })).toThrow("kernel has 1 axes, the input has 2 spatial axes");
    expect(() => pool({ kernel_shape: [3, 3], strides: [0, 1] })).toThrow("expected positive numbers");
    expect(() => pool({ kernel_shape: [3, 3], pads: [1, 1] })).toThrow("pads has 2 entries, expected 4");
    expect(() => pool({ kernel_shape: [40, 3] })).toThrow(ShapeError);
    expect(pool({ kernel_shape: [3, 3] }, "MaxPool", tensor("float32", undefined))).toBe("float32[?,?,?,?]");
    expect(pool({})).toBe("float16[?,?,?,?]");
  });
});

test("global pools leave one element a channel", () => {
  for (const type of ["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"]) {
    expect(show(inferTensor({ type, inputs: [image] }))).toBe("float16[N,3,1,1]");
  }
  const [work] = workOf({ type: "GlobalAveragePool", inputs: [tensor("float16", [2, 3, 4, 5])] }) ?? [];
  expect(work).toMatchObject({
    pattern: "reduction",
    rows: 6,
    columns: 20,
    bytesRead: 240,
    bytesWritten: 12,
  });
});

test("MaxUnpool inverts the window, or takes a shape", () => {
  const x = tensor("float32", [1, 1, 2, 2]);
  const indices = tensor("int64", [1, 1, 2, 2]);
  const attributes = { kernel_shape: [2, 2], strides: [2, 2] };
  expect(show(inferTensor({ type: "MaxUnpool", attributes, inputs: [x, indices] }))).toBe("float32[1,1,4,4]");
  const given = tensor("int64", [4], [1, 1, 5, 5]);
  expect(show(inferTensor({ type: "MaxUnpool", attributes, inputs: [x, indices, given] }))).toBe(
    "float32[1,1,5,5]",
  );
  const unknownSizes = tensor("int64", [4]);
  expect(show(inferTensor({ type: "MaxUnpool", attributes, inputs: [x, indices, unknownSizes] }))).toBe(
    "float32[?,?,?,?]",
  );
});

test("regions give one grid each", () => {
  const R = symbol("R");
  const attributes = { output_height: 7, output_width: 5 };
  const inputs = [image, tensor("float16", [R, 4]), tensor("int64", [12])];
  expect(show(inferTensor({ type: "RoiAlign", attributes, inputs }))).toBe("float16[12,3,7,5]");
  expect(() =>
    infer({
      type: "RoiAlign",
      attributes,
      inputs: [image, tensor("float16", [11, 4]), tensor("int64", [12])],
    }),
  ).toThrow(ShapeError);
  const pooled = { pooled_shape: [2, 3] };
  expect(
    show(inferTensor({ type: "MaxRoiPool", attributes: pooled, inputs: [image, tensor("float16", [R, 5])] })),
  ).toBe("float16[R,3,2,3]");
});
