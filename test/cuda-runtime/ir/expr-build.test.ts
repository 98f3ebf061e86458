/** Makers of expressions fold and simplify without changing values; expressions evaluate as they say. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { BinaryOp, Expr, UnaryOp } from "../../../cuda-runtime/ir/expr.ts";
import * as build from "../../../cuda-runtime/ir/expr-build.ts";
import { evaluateExpr } from "../../../cuda-runtime/ir/expr-evaluate.ts";
import { binaryValue, narrowValue, roundToEven, unaryValue } from "../../../cuda-runtime/ir/expr-value.ts";
import type { View } from "../../../cuda-runtime/ir/view.ts";

const buffer = { id: 0, kind: "input", bytes: 4, name: "x" } as const;
const scalar: View = { buffer, type: "float32", shape: [], strides: [], offset: 0 };
const x = build.load(scalar);

function at(expr: Expr, value: number): number {
  return evaluateExpr(expr, (node) => (node === x ? value : undefined));
}

const single = fc.float({ noNaN: true, noDefaultInfinity: true, min: -1000, max: 1000 });
const binaryOps: readonly BinaryOp[] = ["add", "sub", "mul", "div", "min", "max", "pow"];

describe("build", () => {
  it("keeps the value of a binary operation with a constant", () => {
    const constants = fc.constantFrom(0, 1, -1, 2, 3, 4, 0.5, -0.5, -2, 8, 0.25, 7);
    fc.assert(
      fc.property(fc.constantFrom(...binaryOps), single, constants, (op, value, constant) => {
        const expected = binaryValue(op, "f32", value, constant);
        const actual = at(build.binary(op, x, build.constant("f32", constant)), value);
        if (Number.isNaN(expected) || Number.isNaN(actual)) expect(actual).toBe(expected);
        else if (Number.isFinite(expected) && Number.isFinite(actual))
          expect(Math.abs(actual - expected)).toBeLessThanOrEqual(3e-7 * Math.abs(expected) + 1e-38);
      }),
    );
  });

  it("folds constants to what the operation gives", () => {
    const ops: readonly UnaryOp[] = ["exp", "tanh", "erf", "floor", "neg", "sigmoid"];
    fc.assert(
      fc.property(fc.constantFrom(...ops), single, (op, value) => {
        const folded = build.unary(op, build.constant("f32", value));
        expect(folded).toEqual(build.constant("f32", unaryValue(op, "f32", value)));
      }),
    );
  });

  it("leaves out what does nothing", () => {
    const zero = build.constant("f32", 0);
    expect(build.add(x, zero)).toBe(x);
    expect(build.multiply(x, build.constant("f32", 1))).toBe(x);
    expect(build.unary("neg", build.unary("neg", x))).toBe(x);
    expect(build.convert("f32", x)).toBe(x);
    expect(build.select(build.constant("bool", 1), x, zero)).toBe(x);
    expect(build.index(2, 1)).toEqual(build.constant("i32", 0));
  });

  it("refuses operands of different types", () => {
    expect(() => build.add(x, build.constant("i32", 1))).toThrow("add of float32 and int32");
  });

  it("converts a load once, and no further", () => {
    const whole = build.convert("i32", x);
    expect(whole).toEqual({ kind: "load", type: "i32", view: scalar });
    expect(build.convert("f32", whole)).toEqual({ kind: "convert", type: "f32", arg: whole });
  });
});

describe("values", () => {
  it("wrap in small integers and truncate from floats", () => {
    expect(narrowValue("int8", 200)).toBe(-56);
    expect(narrowValue("uint8", -1)).toBe(255);
    expect(narrowValue("int16", 40_000.9)).toBe(-25_536);
    expect(evaluateExpr(build.convert("i32", build.constant("f32", -2.7)), () => undefined)).toBe(-2);
  });

  it("round to halves as the types do", () => {
    expect(narrowValue("float16", 1 + 2 ** -11)).toBe(1);
    expect(narrowValue("float16", 1 + 3 * 2 ** -11)).toBe(1 + 2 ** -9);
    expect(narrowValue("float16", 65_519)).toBe(65_504);
    expect(narrowValue("float16", 65_520)).toBe(Number.POSITIVE_INFINITY);
    expect(narrowValue("float16", 2 ** -25)).toBe(0);
    expect(narrowValue("float16", 3 * 2 ** -25)).toBe(2 ** -23);
    expect(narrowValue("bfloat16", 1 + 2 ** -8)).toBe(1);
    expect(narrowValue("bfloat16", 3.4e38)).toBe(Number.POSITIVE_INFINITY);
  });

  it("round halves to even", () => {
    expect([0.5, 1.5, 2.5, -0.5, -1.5, 2.4, -2.6].map(roundToEven)).toEqual([0, 2, 2, -0, -2, 2, -3]);
  });
});
