/**
 * @file Functions good enough for results that are rounded to halves: relative error about 1e-5, by the special
 * function unit.
 */

import type { UnaryOp } from "../ir/expr.ts";
import { type Assembler, floatImmediate, type Operand } from "./assembler.ts";

type Emit = (assembler: Assembler, a: Operand) => Operand;

function op(assembler: Assembler, mnemonic: string, ...operands: Operand[]): Operand {
  return assembler.op("f", mnemonic, ...operands);
}

const exp: Emit = (assembler, a) => {
  const scaled = op(assembler, "mul.rn.f32", a, floatImmediate(Math.LOG2E));
  return op(assembler, "ex2.approx.ftz.f32", scaled);
};

const sigmoid: Emit = (assembler, a) => {
  const scaled = op(assembler, "mul.rn.f32", a, floatImmediate(-Math.LOG2E));
  const power = op(assembler, "ex2.approx.ftz.f32", scaled);
  return op(assembler, "rcp.approx.ftz.f32", op(assembler, "add.rn.f32", power, floatImmediate(1)));
};

/** 1 - 2/(e^2x + 1), which has no digits left near 0: there it is x. */
const tanh: Emit = (assembler, a) => {
  const scaled = op(assembler, "mul.rn.f32", a, floatImmediate(2 * Math.LOG2E));
  const power = op(assembler, "ex2.approx.ftz.f32", scaled);
  const sum = op(assembler, "add.rn.f32", power, floatImmediate(1));
  const inverse = op(assembler, "rcp.approx.ftz.f32", sum);
  const large = op(assembler, "fma.rn.f32", inverse, floatImmediate(-2), floatImmediate(1));
  return chooseBelow(assembler, a, 0.015, a, large);
};

/** log2(erfc(x))/x, 0 ≤ x ≤ 4: minimax for the error of erf, 6e-7. */
const erfcSlope = [
  -1.627892013596234, -0.9184922949784565, -0.14869642036820724, 0.02961171172564971, -0.002949294706188997,
];

const erf: Emit = (assembler, a) => {
  const size = op(assembler, "abs.f32", a);
  const bounded = op(assembler, "min.f32", size, floatImmediate(4));
  const [last = 0, ...rest] = [...erfcSlope].reverse();
  const slope = rest.reduce(
    (sum: Operand, coefficient) => op(assembler, "fma.rn.f32", sum, bounded, floatImmediate(coefficient)),
    floatImmediate(last),
  );
  const exponent = op(assembler, "mul.rn.f32", slope, bounded);
  const power = op(assembler, "ex2.approx.ftz.f32", exponent);
  const large = op(assembler, "copysign.f32", a, op(assembler, "sub.rn.f32", floatImmediate(1), power));
  const straight = op(assembler, "mul.rn.f32", a, floatImmediate(2 / Math.sqrt(Math.PI)));
  const isNone = assembler.op("p", "setp.nan.f32", a, a);
  return op(assembler, "selp.f32", a, chooseBelow(assembler, a, 0.015, straight, large), isNone);
};

function chooseBelow(
  assembler: Assembler,
  a: Operand,
  limit: number,
  below: Operand,
  above: Operand,
): Operand {
  const size = op(assembler, "abs.f32", a);
  const isBelow = assembler.op("p", "setp.lt.f32", size, floatImmediate(limit));
  return op(assembler, "selp.f32", below, above, isBelow);
}

export const fastUnary: Readonly<Partial<Record<UnaryOp, Emit>>> = {
  exp,
  sigmoid,
  tanh,
  erf,
  sqrt: (assembler, a) => op(assembler, "sqrt.approx.f32", a),
  rsqrt: (assembler, a) => op(assembler, "rsqrt.approx.f32", a),
  reciprocal: (assembler, a) => op(assembler, "div.full.f32", floatImmediate(1), a),
};
