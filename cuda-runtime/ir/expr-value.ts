/** @file What the scalar operations do, on JavaScript's numbers: for constant folding, sampling and tests. */
import type { BinaryOp, CompareOp, Expr, ScalarType, TestOp, UnaryOp } from "./expr.ts";

export type FloatScalar = "f32" | "f64";
export type NarrowType = Extract<Expr, { kind: "narrow" }>["to"];

export function isFloatScalar(type: ScalarType): type is FloatScalar {
  return type === "f32" || type === "f64";
}

const integers = {
  i32: { bits: 32, signed: true },
  u32: { bits: 32, signed: false },
  i64: { bits: 64, signed: true },
  u64: { bits: 64, signed: false },
} as const satisfies Partial<Record<ScalarType, { bits: number; signed: boolean }>>;

const narrowIntegers = {
  int8: { bits: 8, signed: true },
  uint8: { bits: 8, signed: false },
  int16: { bits: 16, signed: true },
  uint16: { bits: 16, signed: false },
  int4: { bits: 4, signed: true },
  uint4: { bits: 4, signed: false },
  int2: { bits: 2, signed: true },
  uint2: { bits: 2, signed: false },
} as const satisfies Partial<Record<NarrowType, { bits: number; signed: boolean }>>;

/** Two's complement of a whole number. Beyond 2^53 as exact as a double can be. */
function wrapped(value: number, { bits, signed }: { bits: number; signed: boolean }): number {
  if (!Number.isFinite(value)) return 0;
  const low = signed ? -(2 ** (bits - 1)) : 0;
  if (value >= low && value < low + 2 ** bits) return value + 0;
  const raw = BigInt(value);
  return Number(signed ? BigInt.asIntN(bits, raw) : BigInt.asUintN(bits, raw));
}

/** A number as the register type holds it: rounded, or truncated and wrapped, or 0 and 1. */
export function valueAs(type: ScalarType, value: number): number {
  if (type === "f64") return value;
  if (type === "f32") return Math.fround(value);
  if (type === "bool") return value === 0 ? 0 : 1;
  return wrapped(Math.trunc(value), integers[type]);
}

export function narrowValue(to: NarrowType, value: number): number {
  if (to === "float16") return toBinary(value, 10, 15);
  if (to === "bfloat16") return toBinary(value, 7, 127);
  return wrapped(Math.trunc(value), narrowIntegers[to]);
}

const scratch = new DataView(new ArrayBuffer(4));

export function bitsValue(to: "f32" | "u32", value: number): number {
  if (to === "u32") {
    scratch.setFloat32(0, value);
    return scratch.getUint32(0);
  }
  scratch.setUint32(0, value);
  return scratch.getFloat32(0);
}

/** Rounds to nearest, ties to even, with so many bits of fraction and such an exponent bias. */
function toBinary(value: number, fractionBits: number, bias: number): number {
  if (value === 0 || !Number.isFinite(value)) return value;
  const unit = 2 ** (Math.max(exponentOf(value), 1 - bias) - fractionBits);
  const rounded = roundToEven(value / unit) * unit;
  const limit = (2 - 2 ** -fractionBits) * 2 ** bias;
  return Math.abs(rounded) > limit ? Math.sign(value) * Number.POSITIVE_INFINITY : rounded;
}

function exponentOf(value: number): number {
  const exponent = Math.floor(Math.log2(Math.abs(value)));
  // The logarithm of a number just below a power of two rounds up to it.
  return 2 ** exponent > Math.abs(value) ? exponent - 1 : exponent;
}

export function roundToEven(value: number): number {
  const below = Math.floor(value);
  const rest = value - below;
  if (rest === 0.5) return below % 2 === 0 ? below : value < 0 ? -Math.abs(below + 1) : below + 1;
  // Keeps the sign of zero and whatever is no number.
  return rest < 0.5 ? below : rest > 0.5 ? (value < 0 ? -Math.floor(-value) : below + 1) : value;
}

const unaryValues: Readonly<Record<UnaryOp, (x: number) => number>> = {
  neg: (x) => -x,
  abs: Math.abs,
  sign: Math.sign,
  sqrt: Math.sqrt,
  rsqrt: (x) => 1 / Math.sqrt(x),
  reciprocal: (x) => 1 / x,
  exp: Math.exp,
  log: Math.log,
  sin: Math.sin,
  cos: Math.cos,
  tan: Math.tan,
  asin: Math.asin,
  acos: Math.acos,
  atan: Math.atan,
  sinh: Math.sinh,
  cosh: Math.cosh,
  tanh: Math.tanh,
  asinh: Math.asinh,
  acosh: Math.acosh,
  atanh: Math.atanh,
  erf: erfValue,
  sigmoid: (x) => 1 / (1 + Math.exp(-x)),
  floor: Math.floor,
  ceil: Math.ceil,
  round: roundToEven,
  not: (x) => -1 - x,
};

/** The series 2/√π Σ (-1)^n x^(2n+1) / (n! (2n+1)), or the continued fraction of erfc where that cancels. */
export function erfValue(x: number): number {
  const size = Math.abs(x);
  if (!(size < 6)) return Number.isNaN(x) ? x : Math.sign(x);
  if (size > 2.5) return Math.sign(x) * (1 - erfcFraction(size));
  let term = size;
  let sum = size;
  for (let n = 1; Math.abs(term) > 1e-18 * Math.abs(sum); n++) {
    term *= (-size * size) / n;
    sum += term / (2 * n + 1);
  }
  return Math.sign(x) * (2 / Math.sqrt(Math.PI)) * sum;
}

function erfcFraction(x: number): number {
  let tail = x;
  for (let n = 80; n > 0; n--) tail = x + n / 2 / tail;
  return Math.exp(-x * x) / Math.sqrt(Math.PI) / tail;
}

export function unaryValue(op: UnaryOp, type: ScalarType, x: number): number {
  if (op === "not" && type === "bool") return x === 0 ? 1 : 0;
  return valueAs(type, unaryValues[op](x));
}

function floorMod(a: number, b: number): number {
  const rest = a % b;
  return rest !== 0 && rest < 0 !== b < 0 ? rest + b : rest;
}

/** C's pow: 1 ** NaN and (-1) ** ±Infinity are 1. */
function power(a: number, b: number): number {
  return a === 1 || (a === -1 && Math.abs(b) === Number.POSITIVE_INFINITY) ? 1 : a ** b;
}

type Fold = (a: number, b: number, type: ScalarType) => number;

function onBits(f: (a: bigint, b: bigint) => bigint): Fold {
  return (a, b) => Number(f(BigInt(a), BigInt(b)));
}

const binaryValues: Readonly<Record<BinaryOp, Fold>> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b, type) =>
    isFloatScalar(type) || Number.isSafeInteger(a * b)
      ? a * b
      : Number(BigInt.asIntN(64, BigInt(a) * BigInt(b))),
  div: (a, b, type) => (isFloatScalar(type) ? a / b : b === 0 ? 0 : Math.trunc(a / b)),
  mod: (a, b, type) => (b === 0 && !isFloatScalar(type) ? 0 : floorMod(a, b)),
  fmod: (a, b, type) => (b === 0 && !isFloatScalar(type) ? 0 : a % b),
  pow: (a, b) => power(a, b),
  min: (a, b) => Math.min(a, b),
  max: (a, b) => Math.max(a, b),
  and: onBits((a, b) => a & b),
  or: onBits((a, b) => a | b),
  xor: onBits((a, b) => a ^ b),
  shl: (a, b) => (b > 63 ? 0 : Number(BigInt.asIntN(64, BigInt(a) << BigInt(b)))),
  shr: (a, b) => (b > 63 ? 0 : Number(BigInt(a) >> BigInt(b))),
};

export function binaryValue(op: BinaryOp, type: ScalarType, a: number, b: number): number {
  return valueAs(type, binaryValues[op](a, b, type));
}

const compareValues: Readonly<Record<CompareOp, (a: number, b: number) => boolean>> = {
  eq: (a, b) => a === b,
  ne: (a, b) => a !== b,
  lt: (a, b) => a < b,
  le: (a, b) => a <= b,
  gt: (a, b) => a > b,
  ge: (a, b) => a >= b,
};

export function compareValue(op: CompareOp, a: number, b: number): number {
  return compareValues[op](a, b) ? 1 : 0;
}

const testValues: Readonly<Record<TestOp, (x: number) => boolean>> = {
  isnan: Number.isNaN,
  isposinf: (x) => x === Number.POSITIVE_INFINITY,
  isneginf: (x) => x === Number.NEGATIVE_INFINITY,
};

export function testValue(op: TestOp, x: number): number {
  return testValues[op](x) ? 1 : 0;
}
