/** @file Each scalar operation as PTX. */

import type { BinaryOp, CompareOp, ScalarType, TestOp, UnaryOp } from "../ir/expr.ts";
import { type FloatScalar, isFloatScalar } from "../ir/expr-value.ts";
import {
  type Assembler,
  doubleImmediate,
  floatImmediate,
  type Operand,
  registerClassOf,
} from "./assembler.ts";
import { constantOperand } from "./convert.ts";
import { fastUnary } from "./fast-math.ts";
import type { FloatMachine } from "./machine.ts";
import * as exps from "./math-exp.ts";
import * as more from "./math-more.ts";
import * as trig from "./math-trig.ts";
import { type PtxMachine, ptxMachine } from "./ptx-machine.ts";

export interface Dialect {
  readonly assembler: Assembler;
  /** Whether 1e-5 is exact enough: everything that is stored is a half. */
  readonly isFast: boolean;
}

type Function1 = <V, P>(m: FloatMachine<V, P>, x: V) => V;

/** Functions of a float that take several instructions or differ by width. */
export const floatFunctions = {
  neg: (m, x) => m.neg(x),
  abs: (m, x) => m.abs(x),
  sign: (m, x) => {
    const zero = m.constant(0);
    const size = m.select(m.eq(x, zero), x, m.copySign(m.constant(1), x));
    return m.select(m.eq(x, x), size, x);
  },
  sqrt: (m, x) => m.sqrt(x),
  rsqrt: (m, x) => m.div(m.constant(1), m.sqrt(x)),
  reciprocal: (m, x) => m.div(m.constant(1), x),
  exp: (m, x) => exps.expOf(m, x),
  log: exps.log,
  sin: trig.sin,
  cos: trig.cos,
  tan: trig.tan,
  asin: trig.asin,
  acos: trig.acos,
  atan: trig.atan,
  sinh: exps.sinh,
  cosh: exps.cosh,
  tanh: exps.tanh,
  asinh: exps.asinh,
  acosh: exps.acosh,
  atanh: exps.atanh,
  erf: more.erf,
  sigmoid: exps.sigmoid,
  floor: (m, x) => m.floor(x),
  ceil: (m, x) => m.neg(m.floor(m.neg(x))),
  round: (m, x) => m.rint(x),
} as const satisfies Record<Exclude<UnaryOp, "not">, Function1>;

function machineOf(dialect: Dialect, type: FloatScalar): PtxMachine {
  return ptxMachine(dialect.assembler, type === "f32" ? 32 : 64);
}

/** Immediates are no operands of every instruction. */
function inRegister(assembler: Assembler, type: FloatScalar, a: Operand): Operand {
  return a.startsWith("%") ? a : assembler.op(registerClassOf(type), `mov.${type}`, a);
}

export function emitUnary(dialect: Dialect, op: UnaryOp, type: ScalarType, a: Operand): Operand {
  const { assembler } = dialect;
  if (op === "not") return emitNot(assembler, type, a);
  if (!isFloatScalar(type)) return emitIntegerUnary(assembler, op, type, a);
  const operand = inRegister(assembler, type, a);
  const fast = dialect.isFast && type === "f32" ? fastUnary[op] : undefined;
  return fast?.(assembler, operand) ?? floatFunctions[op](machineOf(dialect, type), operand);
}

function emitNot(assembler: Assembler, type: ScalarType, a: Operand): Operand {
  if (type === "bool") return assembler.op("p", "not.pred", a);
  const kind = registerClassOf(type);
  if (kind !== "r" && kind !== "q") throw new Error(`tc-lint bug: not of ${type}`);
  return assembler.op(kind, `not.b${bitsOf(type)}`, a);
}

function emitIntegerUnary(assembler: Assembler, op: UnaryOp, type: ScalarType, a: Operand): Operand {
  if (type === "bool") throw new Error(`tc-lint bug: ${op} of bool`);
  const kind = registerClassOf(type);
  const bits = bitsOf(type);
  const isSigned = type === "i32" || type === "i64";
  switch (op) {
    case "neg":
      return assembler.op(kind, `neg.s${bits}`, a);
    case "abs":
      return isSigned ? assembler.op(kind, `abs.s${bits}`, a) : a;
    case "sign": {
      const atMost = assembler.op(kind, `min.${isSigned ? "s" : "u"}${bits}`, a, "1");
      return isSigned ? assembler.op(kind, `max.s${bits}`, atMost, "-1") : atMost;
    }
    case "floor":
    case "ceil":
    case "round":
      return a;
    default:
      throw new Error(`tc-lint bug: ${op} of ${type}`);
  }
}

function bitsOf(type: ScalarType): 32 | 64 {
  return type === "i64" || type === "u64" || type === "f64" ? 64 : 32;
}

export function emitBinary(
  dialect: Dialect,
  op: BinaryOp,
  type: ScalarType,
  a: Operand,
  b: Operand,
): Operand {
  if (type === "bool") return emitBoolBinary(dialect.assembler, op, a, b);
  return isFloatScalar(type)
    ? emitFloatBinary(dialect, op, type, a, b)
    : emitIntegerBinary(dialect.assembler, op, type, a, b);
}

const boolOps: Readonly<Partial<Record<BinaryOp, string>>> = {
  and: "and.pred",
  or: "or.pred",
  xor: "xor.pred",
  min: "and.pred",
  max: "or.pred",
  mul: "and.pred",
  add: "or.pred",
};

function emitBoolBinary(assembler: Assembler, op: BinaryOp, a: Operand, b: Operand): Operand {
  const mnemonic = boolOps[op];
  if (mnemonic === undefined) throw new Error(`tc-lint bug: ${op} of bool`);
  return assembler.op("p", mnemonic, a, b);
}

function emitFloatBinary(dialect: Dialect, op: BinaryOp, type: FloatScalar, a: Operand, b: Operand): Operand {
  const { assembler, isFast } = dialect;
  const machine = machineOf(dialect, type);
  const inRegisters = () => [inRegister(assembler, type, a), inRegister(assembler, type, b)] as const;
  switch (op) {
    case "add":
    case "sub":
    case "mul":
      // Without a rounding mode, the compiler may fuse a product into a sum.
      return assembler.op(registerClassOf(type), `${op}.${type}`, a, b);
    case "div":
      return isFast && type === "f32" ? assembler.op("f", "div.full.f32", a, b) : machine.div(a, b);
    case "min":
    case "max":
      return emitExtreme(assembler, op, type, ...inRegisters());
    case "fmod":
      return more.remainder(machine, ...inRegisters());
    case "mod":
      return more.floorRemainder(machine, ...inRegisters());
    case "pow":
      return more.power(machine, ...inRegisters());
    default:
      throw new Error(`tc-lint bug: ${op} of ${type}`);
  }
}

/** NaN where either is. */
function emitExtreme(
  assembler: Assembler,
  op: "min" | "max",
  type: FloatScalar,
  a: Operand,
  b: Operand,
): Operand {
  const kind = registerClassOf(type);
  if (type === "f32" && assembler.features.nanExtremes) return assembler.op("f", `${op}.NaN.f32`, a, b);
  const extreme = assembler.op(kind, `${op}.${type}`, a, b);
  const isNone = assembler.op("p", `setp.nan.${type}`, a, b);
  return assembler.op(kind, `selp.${type}`, assembler.op(kind, `add.${type}`, a, b), extreme, isNone);
}

function emitIntegerBinary(
  assembler: Assembler,
  op: BinaryOp,
  type: Exclude<ScalarType, "bool" | FloatScalar>,
  a: Operand,
  b: Operand,
): Operand {
  const kind = registerClassOf(type);
  const bits = bitsOf(type);
  const signed = type === "i32" || type === "i64" ? `s${bits}` : `u${bits}`;
  switch (op) {
    case "add":
    case "sub":
      return assembler.op(kind, `${op}.s${bits}`, a, b);
    case "mul":
      return assembler.op(kind, `mul.lo.s${bits}`, a, b);
    case "div":
    case "min":
    case "max":
      return assembler.op(kind, `${op}.${signed}`, a, b);
    case "fmod":
      return assembler.op(kind, `rem.${signed}`, a, b);
    case "mod":
      return emitIntegerMod(assembler, type, a, b);
    case "and":
    case "or":
    case "xor":
      return assembler.op(kind, `${op}.b${bits}`, a, b);
    case "shl":
    case "shr":
      return emitShift(assembler, op, type, a, b);
    case "pow":
      return emitIntegerPower(assembler, type, a, b);
  }
}

function emitIntegerMod(assembler: Assembler, type: ScalarType, a: Operand, b: Operand): Operand {
  const kind = registerClassOf(type);
  const bits = bitsOf(type);
  if (type === "u32" || type === "u64") return assembler.op(kind, `rem.u${bits}`, a, b);
  const rest = assembler.op(kind, `rem.s${bits}`, a, b);
  const signs = assembler.op(kind, `xor.b${bits}`, rest, b);
  const differs = assembler.op("p", `setp.lt.s${bits}`, signs, "0");
  const isRest = assembler.op("p", `setp.ne.s${bits}`, rest, "0");
  const moved = assembler.op(kind, `add.s${bits}`, rest, b);
  return assembler.op(kind, `selp.b${bits}`, moved, rest, assembler.op("p", "and.pred", differs, isRest));
}

/** PTX shifts by 32 bits of distance, and by no more than the width. */
function emitShift(
  assembler: Assembler,
  op: "shl" | "shr",
  type: ScalarType,
  a: Operand,
  b: Operand,
): Operand {
  const bits = bitsOf(type);
  const bounded = bits === 64 ? assembler.op("q", "min.u64", b, "64") : b;
  const distance = bits === 64 ? assembler.op("r", "cvt.u32.u64", bounded) : bounded;
  const isSigned = type === "i32" || type === "i64";
  const mnemonic = op === "shl" ? `shl.b${bits}` : `shr.${isSigned ? "s" : "u"}${bits}`;
  return assembler.op(registerClassOf(type), mnemonic, a, distance);
}

/** By squaring, in a loop over the exponent's bits; wraps. A negative exponent gives 0 but for bases of size 1. */
function emitIntegerPower(assembler: Assembler, type: ScalarType, base: Operand, exponent: Operand): Operand {
  const kind = registerClassOf(type);
  const bits = bitsOf(type);
  const move = (a: Operand) => assembler.op(kind, `mov.b${bits}`, a);
  const [result, square, left] = [move("1"), move(base), move(exponent)];
  const [start, end] = [assembler.label(), assembler.label()];
  if (type === "i32" || type === "i64") emitNegativeExponent(assembler, bits, { result, base: square, left });
  assembler.place(start);
  const isDone = assembler.op("p", `setp.eq.s${bits}`, left, "0");
  assembler.line(`@${isDone} bra ${end};`);
  const last = assembler.op(kind, `and.b${bits}`, left, "1");
  const isOdd = assembler.op("p", `setp.ne.s${bits}`, last, "0");
  assembler.line(`@${isOdd} mul.lo.s${bits} ${result}, ${result}, ${square};`);
  assembler.line(`mul.lo.s${bits} ${square}, ${square}, ${square};`);
  assembler.line(`shr.u${bits} ${left}, ${left}, 1;`);
  assembler.line(`bra ${start};`);
  assembler.place(end);
  return result;
}

/** Where the exponent is negative: |exponent| for bases 1 and -1, else the result is 0 and nothing is left to do. */
function emitNegativeExponent(
  assembler: Assembler,
  bits: 32 | 64,
  { result, base, left }: { result: Operand; base: Operand; left: Operand },
): void {
  const isNegative = assembler.op("p", `setp.lt.s${bits}`, left, "0");
  const size = assembler.op(bits === 64 ? "q" : "r", `abs.s${bits}`, base);
  const isOne = assembler.op("p", `setp.eq.s${bits}`, size, "1");
  const isUnit = assembler.op("p", "and.pred", isNegative, isOne);
  const isZero = assembler.op("p", "and.pred", isNegative, assembler.op("p", "not.pred", isOne));
  assembler.line(`@${isUnit} neg.s${bits} ${left}, ${left};`);
  assembler.line(`@${isZero} mov.b${bits} ${left}, 0;`);
  assembler.line(`@${isZero} mov.b${bits} ${result}, 0;`);
}

const unorderedNames: Readonly<Partial<Record<CompareOp, string>>> = { ne: "neu" };

export function emitCompare(
  dialect: Dialect,
  op: CompareOp,
  type: ScalarType,
  a: Operand,
  b: Operand,
): Operand {
  const { assembler } = dialect;
  if (type === "bool") return emitBoolCompare(assembler, op, a, b);
  if (isFloatScalar(type)) return assembler.op("p", `setp.${unorderedNames[op] ?? op}.${type}`, a, b);
  const bits = bitsOf(type);
  return assembler.op("p", `setp.${op}.${type === "u32" || type === "u64" ? "u" : "s"}${bits}`, a, b);
}

function emitBoolCompare(assembler: Assembler, op: CompareOp, a: Operand, b: Operand): Operand {
  const differs = () => assembler.op("p", "xor.pred", a, b);
  const not = (p: Operand) => assembler.op("p", "not.pred", p);
  const both = (p: Operand, q: Operand) => assembler.op("p", "and.pred", p, q);
  switch (op) {
    case "ne":
      return differs();
    case "eq":
      return not(differs());
    case "lt":
      return both(not(a), b);
    case "gt":
      return both(a, not(b));
    case "le":
      return not(both(a, not(b)));
    case "ge":
      return not(both(not(a), b));
  }
}

export function emitTest(dialect: Dialect, op: TestOp, type: ScalarType, a: Operand): Operand {
  const { assembler } = dialect;
  if (!isFloatScalar(type)) return constantOperand(assembler, "bool", 0);
  if (op === "isnan") {
    const operand = inRegister(assembler, type, a);
    return assembler.op("p", `setp.nan.${type}`, operand, operand);
  }
  const value = op === "isposinf" ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  return assembler.op(
    "p",
    `setp.eq.${type}`,
    a,
    type === "f32" ? floatImmediate(value) : doubleImmediate(value),
  );
}

export function emitSelect(
  dialect: Dialect,
  type: ScalarType,
  condition: Operand,
  a: Operand,
  b: Operand,
): Operand {
  const { assembler } = dialect;
  if (type !== "bool") {
    const suffix = isFloatScalar(type) ? type : `b${bitsOf(type)}`;
    return assembler.op(registerClassOf(type), `selp.${suffix}`, a, b, condition);
  }
  const whenTrue = assembler.op("p", "and.pred", condition, a);
  const whenFalse = assembler.op("p", "and.pred", assembler.op("p", "not.pred", condition), b);
  return assembler.op("p", "or.pred", whenTrue, whenFalse);
}
