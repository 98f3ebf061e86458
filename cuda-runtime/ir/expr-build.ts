/** @file Makers of expressions. They fold constants and leave out what does nothing. */
import type { PendingProduct } from "./epilogue.ts";
import type { BinaryOp, CompareOp, Expr, ScalarType, TestOp, UnaryOp } from "./expr.ts";
import {
  binaryValue,
  bitsValue,
  compareValue,
  isFloatScalar,
  type NarrowType,
  narrowValue,
  testValue,
  unaryValue,
  valueAs,
} from "./expr-value.ts";
import { OperandError } from "./operand-error.ts";
import { scalarOf } from "./scalar.ts";
import { isHalfStorage, type StorageType } from "./storage.ts";
import type { View } from "./view.ts";

/** An element of a view, in the type that its arithmetic runs in unless another is wanted. */
export function load(view: View, type: ScalarType = scalarOf(view.type)): Expr {
  return { kind: "load", type, view };
}

export function productLeaf(product: PendingProduct): Expr {
  return { kind: "product", type: scalarOf(product.type), product };
}

type Constant = Expr & { readonly kind: "constant" };

export function constant(type: ScalarType, value: number): Constant {
  return { kind: "constant", type, value: valueAs(type, value) };
}

/** A number that a model stores as `storage`. */
export function storedConstant(type: ScalarType, value: number, storage: StorageType | undefined): Constant {
  const number = constant(type, value);
  return storage !== undefined && isHalfStorage(storage) ? { ...number, storedAs: storage } : number;
}

/** The coordinate along an axis counted from the right, of an axis of `size`; i32. */
export function index(axisFromRight: number, size: number): Expr {
  return size === 1 ? constant("i32", 0) : { kind: "index", type: "i32", axisFromRight, size };
}

/** What is there for whole numbers; floats have all but "not", truth has nothing else. */
const wholeUnary: ReadonlySet<UnaryOp> = new Set(["neg", "abs", "sign", "floor", "ceil", "round", "not"]);

function takes(op: UnaryOp, type: ScalarType): boolean {
  if (type === "bool") return op === "not";
  return isFloatScalar(type) ? op !== "not" : wholeUnary.has(op);
}

/** Registers are wider than what they hold: a half or a byte is named as what it is computed in. */
const typeNames: Readonly<Record<ScalarType, string>> = {
  f32: "float32",
  f64: "float64",
  i32: "int32",
  u32: "uint32",
  i64: "int64",
  u64: "uint64",
  bool: "bool",
};

/** For messages: as ONNX names types. */
function nameOf({ type }: Expr): string {
  return typeNames[type];
}

/** Throws OperandError for a type that the function is not there for. */
export function unary(op: UnaryOp, arg: Expr): Expr {
  if (!takes(op, arg.type)) throw new OperandError(`there is no ${op} of ${nameOf(arg)}`);
  if (arg.kind === "constant") return constant(arg.type, unaryValue(op, arg.type, arg.value));
  const undoes = op === "neg" || op === "not";
  if (undoes && arg.kind === "unary" && arg.op === op) return arg.arg;
  const isWhole = op === "floor" || op === "ceil" || op === "round";
  if (isWhole && !isFloatScalar(arg.type)) return arg;
  return { kind: "unary", type: arg.type, op, arg };
}

/** Both of one type; OperandError otherwise. */
export function binary(op: BinaryOp, a: Expr, b: Expr): Expr {
  if (a.type !== b.type)
    throw new OperandError(`there is no ${op} of ${nameOf(a)} and ${nameOf(b)}, expected one type`);
  if (a.kind === "constant" && b.kind === "constant") {
    return constant(a.type, binaryValue(op, a.type, a.value, b.value));
  }
  if (b.kind === "constant") return withConstant(op, a, b);
  if (a.kind === "constant" && isNeutralLeft(op, a.value)) return b;
  return { kind: "binary", type: a.type, op, args: [a, b] };
}

function isNeutralLeft(op: BinaryOp, value: number): boolean {
  return ((op === "add" || op === "or" || op === "xor") && value === 0) || (op === "mul" && value === 1);
}

function withConstant(op: BinaryOp, a: Expr, b: Constant): Expr {
  const { value } = b;
  if (op === "pow") return power(a, value);
  const zeroDoesNothing = ["add", "sub", "or", "xor", "shl", "shr"].includes(op);
  if (zeroDoesNothing && value === 0) return a;
  if ((op === "mul" || op === "div") && value === 1) return a;
  // Exact, and a product is cheaper than a quotient.
  if (op === "div" && isFloatScalar(a.type) && isPowerOfTwo(value))
    return binary("mul", a, constant(a.type, 1 / value));
  return { kind: "binary", type: a.type, op, args: [a, b] };
}

function isPowerOfTwo(value: number): boolean {
  const exponent = Math.log2(Math.abs(value));
  return Number.isInteger(exponent) && Math.abs(exponent) < 100;
}

/** Small exponents as products and roots. */
function power(base: Expr, exponent: number): Expr {
  const { type } = base;
  const square = () => binary("mul", base, base);
  const isFloat = isFloatScalar(type);
  switch (exponent) {
    case 0:
      return constant(type, 1);
    case 1:
      return base;
    case 2:
      return square();
    case 3:
      return binary("mul", square(), base);
    case 4:
      return binary("mul", square(), square());
  }
  if (isFloat && exponent === 0.5) return unary("sqrt", base);
  if (isFloat && exponent === -0.5) return unary("rsqrt", base);
  if (isFloat && exponent === -1) return unary("reciprocal", base);
  if (isFloat && exponent === -2) return unary("reciprocal", square());
  return { kind: "binary", type, op: "pow", args: [base, constant(type, exponent)] };
}

export function compare(op: CompareOp, a: Expr, b: Expr): Expr {
  if (a.type !== b.type)
    throw new OperandError(`there is no ${op} of ${nameOf(a)} and ${nameOf(b)}, expected one type`);
  if (a.kind === "constant" && b.kind === "constant") {
    return constant("bool", compareValue(op, a.value, b.value));
  }
  return { kind: "compare", type: "bool", op, args: [a, b] };
}

export function test(op: TestOp, arg: Expr): Expr {
  if (!isFloatScalar(arg.type)) return constant("bool", 0);
  if (arg.kind === "constant") return constant("bool", testValue(op, arg.value));
  return { kind: "test", type: "bool", op, arg };
}

export function select(condition: Expr, whenTrue: Expr, whenFalse: Expr): Expr {
  if (whenTrue.type !== whenFalse.type) {
    throw new OperandError(
      `there is no choice between ${nameOf(whenTrue)} and ${nameOf(whenFalse)}, expected one type`,
    );
  }
  if (whenTrue === whenFalse) return whenTrue;
  const chosen = toBool(condition);
  if (chosen.kind === "constant") return chosen.value === 0 ? whenFalse : whenTrue;
  return { kind: "select", type: whenTrue.type, condition: chosen, args: [whenTrue, whenFalse] };
}

export function toBool(arg: Expr): Expr {
  return convert("bool", arg);
}

/** As ONNX's Cast. */
export function convert(type: ScalarType, arg: Expr): Expr {
  if (arg.type === type) return arg;
  if (arg.kind === "constant") return constant(type, arg.value);
  if (arg.kind === "load" && arg.type === scalarOf(arg.view.type)) return { ...arg, type };
  return { kind: "convert", type, arg };
}

/** Rounded, or wrapped, to the narrower type and back. */
export function narrow(to: NarrowType, arg: Expr): Expr {
  if (arg.kind === "constant") return constant(arg.type, narrowValue(to, arg.value));
  if (arg.kind === "narrow" && arg.to === to) return arg;
  if (arg.kind === "load" && arg.view.type === to && arg.type === scalarOf(to)) return arg;
  return { kind: "narrow", type: arg.type, to, arg };
}

/** The bits of a float as a number, and back. */
export function bits(type: "f32" | "u32", arg: Expr): Expr {
  if (arg.type === type) return arg;
  if (arg.kind === "constant") return constant(type, bitsValue(type, arg.value));
  return { kind: "bits", type, arg };
}

export function add(a: Expr, b: Expr): Expr {
  return binary("add", a, b);
}

export function subtract(a: Expr, b: Expr): Expr {
  return binary("sub", a, b);
}

export function multiply(a: Expr, b: Expr): Expr {
  return binary("mul", a, b);
}

export function divide(a: Expr, b: Expr): Expr {
  return binary("div", a, b);
}

/** A constant of the other's type. */
export function like(expr: Expr, value: number): Expr {
  return constant(expr.type, value);
}
