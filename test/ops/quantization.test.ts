/** @file Types, shapes and work of quantized operators. */
import { describe, expect, it } from "vitest";
import { type Shape, symbol } from "../../src/ir/dim.ts";
import type { DType } from "../../src/ir/dtype.ts";
import type { TensorFact } from "../../src/ops/op.ts";
import { tensor, unknownTensor } from "../../src/ops/shape.ts";
import { infer, inferTensor, show, workOf } from "./context.ts";

const N = symbol("N");

function of(dtype: DType, ...shape: Shape): TensorFact {
  return tensor(dtype, shape);
}
const scale = of("float32");

describe("QuantizeLinear", () => {
  const x = of("float32", N, 3, 8);
  it.each([
    ["uint8 without a zero point", [x, scale], {}, "uint8"],
    ["the zero point's type", [x, scale, of("int8")], {}, "int8"],
    ["the stated type", [x, scale], { output_dtype: 22 }, "int4"],
    ["nothing guessed of an unknown zero point", [x, scale, unknownTensor], {}, "?"],
  ] as const)("%s", (_name, inputs, attributes, expected) => {
    expect(show(inferTensor({ type: "QuantizeLinear", inputs, attributes }))).toBe(`${expected}[N,3,8]`);
  });

  it.each([
    ["types that disagree", [x, scale, of("int8")], { output_dtype: 2 }, "output_dtype"],
    ["scales off the axis", [x, of("float32", 4)], { axis: 1 }, "4 scales for axis 1 of size 3"],
    ["blocks off another axis", [x, of("float32", 1, 2, 2)], { axis: 2 }, "axis 1"],
    ["blocks of another rank", [x, of("float32", 3, 2)], { axis: 2 }, "rank 2"],
    ["an axis outside", [x, of("float32", 3)], { axis: 3 }, "axis 3"],
  ] as const)("rejects %s", (_name, inputs, attributes, message) => {
    expect(() => infer({ type: "QuantizeLinear", inputs, attributes })).toThrow(message);
  });

  it("takes one scale a position, a block, or for all", () => {
    for (const scales of [of("float32", 3), of("float32", 1), of("float32", N, 3, 2)]) {
      const axis = scales.shape?.length === 3 ? 2 : 1;
      expect(() =>
        infer({ type: "QuantizeLinear", inputs: [x, scales], attributes: { axis } }),
      ).not.toThrow();
    }
    // A vector has one axis, though the default says 1.
    expect(() =>
      infer({ type: "DequantizeLinear", inputs: [of("int8", 5), of("float32", 5)] }),
    ).not.toThrow();
  });
});

describe("DequantizeLinear and DynamicQuantizeLinear", () => {
  it("takes the scale's type, or the stated one", () => {
    const inputs = [of("int8", N, 3), of("float16")];
    expect(show(inferTensor({ type: "DequantizeLinear", inputs }))).toBe("float16[N,3]");
    expect(show(inferTensor({ type: "DequantizeLinear", inputs, attributes: { output_dtype: 1 } }))).toBe(
      "float32[N,3]",
    );
  });
  it("gives codes, scale and zero point", () => {
    const facts = infer({ type: "DynamicQuantizeLinear", inputs: [of("float32", N, 3)] });
    expect(facts.map(show)).toEqual(["uint8[N,3]", "float32[]", "uint8[]"]);
  });
});

describe("QLinear products", () => {
  it("QLinearMatMul multiplies codes", () => {
    const zero = of("uint8");
    const inputs = [of("uint8", N, 4, 64), scale, zero, of("uint8", 64, 30), scale, zero, scale, of("int8")];
    const options = { type: "QLinearMatMul", inputs };
    expect(show(inferTensor(options))).toBe("int8[N,4,30]");
    expect(workOf(options)).toEqual([
      expect.objectContaining({ kind: "gemm", n: 30, k: 64, sharedB: true, dtype: "int8" }),
    ]);
    const float8 = inputs.map((fact, at) => (at === 0 ? tensor("float8e4m3fn", fact.shape) : fact));
    expect(workOf({ type: "QLinearMatMul", inputs: float8 })?.[0]?.dtype).toBe("float8e4m3fn");
  });
  it("QLinearConv convolves codes", () => {
    const zero = of("uint8");
    const inputs = [
      of("uint8", N, 3, 8, 8),
      scale,
      zero,
      of("int8", 16, 3, 3, 3),
      scale,
      zero,
      scale,
      zero,
      of("int32", 16),
    ];
    const options = { type: "QLinearConv", inputs, attributes: { pads: [1, 1, 1, 1] } };
    expect(show(inferTensor(options))).toBe("uint8[N,16,8,8]");
    expect(workOf(options)).toEqual([
      expect.objectContaining({ kind: "conv", channels: 3, filters: 16, dtype: "int8" }),
    ]);
    const shortBias = inputs.map((fact, at) => (at === 8 ? of("int32", 8) : fact));
    expect(() => infer({ type: "QLinearConv", inputs: shortBias })).toThrow("bias");
  });
});
