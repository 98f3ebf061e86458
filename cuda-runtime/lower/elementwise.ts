/** @file Arithmetic, comparisons, logic, bits, casts and choices, element by element. */
import type { BinaryOp, CompareOp, Expr, UnaryOp } from "../ir/expr.ts";
import {
  add,
  binary,
  compare,
  constant,
  convert,
  divide,
  like,
  load,
  multiply,
  select,
  subtract,
  test,
  toBool,
  unary,
} from "../ir/expr-build.ts";
import { isFloatScalar } from "../ir/expr-value.ts";
import { isLargeChain, productsIn } from "../ir/expr-walk.ts";
import { isHalfStorage } from "../ir/storage.ts";
import type { Lower, LowerContext, LowerTable } from "./context.ts";
import {
  alongAxis,
  argument,
  onOne,
  onTwo,
  operand,
  operands,
  rawView,
  setResult,
} from "./elementwise-operands.ts";

const unaryOps: Readonly<Record<string, UnaryOp>> = {
  Abs: "abs",
  Acos: "acos",
  Acosh: "acosh",
  Asin: "asin",
  Asinh: "asinh",
  Atan: "atan",
  Atanh: "atanh",
  BitwiseNot: "not",
  Ceil: "ceil",
  Cos: "cos",
  Cosh: "cosh",
  Erf: "erf",
  Exp: "exp",
  Floor: "floor",
  Log: "log",
  Neg: "neg",
  Not: "not",
  Reciprocal: "reciprocal",
  Round: "round",
  Sign: "sign",
  Sin: "sin",
  Sinh: "sinh",
  Sqrt: "sqrt",
  Tan: "tan",
};

const binaryOps: Readonly<Record<string, BinaryOp>> = {
  Add: "add",
  And: "and",
  BitwiseAnd: "and",
  BitwiseOr: "or",
  BitwiseXor: "xor",
  Div: "div",
  Mul: "mul",
  Or: "or",
  Sub: "sub",
  Xor: "xor",
};

const compareOps: Readonly<Record<string, CompareOp>> = {
  Equal: "eq",
  Greater: "gt",
  GreaterOrEqual: "ge",
  Less: "lt",
  LessOrEqual: "le",
};

/** Of any number of inputs. */
const variadicOps: Readonly<Record<string, BinaryOp>> = { Max: "max", Min: "min", Sum: "add" };

function tableOf<T>(rows: Readonly<Record<string, T>>, lower: (row: T) => Lower): LowerTable {
  return Object.fromEntries(Object.entries(rows).map(([operator, row]) => [operator, lower(row)]));
}

/** Where one kernel cannot hold all of them, what it can is stored, and the next goes on from there; a product comes last. */
function overAll(op: BinaryOp, args: readonly Expr[], context: LowerContext): Expr {
  argument(args, 0, context);
  const isLong = args.length > maxTogether;
  const inOrder = isLong ? args.toSorted((a, b) => productsIn(a).length - productsIn(b).length) : args;
  return inOrder.reduce((total, arg) => {
    const isFull = isLong && isLargeChain(total, arg) && productsIn(total).length === 0;
    return binary(op, isFull ? storedPart(total, context) : total, arg);
  });
}

/** Inputs that surely fit into one kernel. */
const maxTogether = 8;

/** Of any number of inputs: a product that too many of them are made of is stored, as no epilogue takes them all. */
function variadic(join: (args: readonly Expr[], context: LowerContext) => Expr): Lower {
  return (context) => {
    const args = operands(context);
    const waiting = args.filter((arg) => productsIn(arg).length > 0);
    if (waiting.length > maxTogether) storeProducts(context);
    setResult(context, join(waiting.length > maxTogether ? operands(context) : args, context));
  };
}

function storeProducts(context: LowerContext): void {
  for (let index = 0; index < context.inputCount; index++) {
    if (context.hasInput(index) && productsIn(operand(context, index)).length > 0) context.input(index);
  }
}

function storedPart(part: Expr, context: LowerContext): Expr {
  const type = context.outputType(0);
  return load(context.evaluate(part, context.outputShape(0), isHalfStorage(type) ? "float32" : type));
}

/** The result has the base's type; a fractional power of integers is computed in double precision. */
const pow = onTwo((base, exponent) => {
  if (isFloatScalar(base.type) || !isFloatScalar(exponent.type)) {
    return binary("pow", base, convert(base.type, exponent));
  }
  return convert(base.type, binary("pow", convert("f64", base), convert("f64", exponent)));
});

const bitShift = onTwo((value, distance, context) => {
  const direction = context.string("direction");
  if (direction !== "LEFT" && direction !== "RIGHT")
    return context.fail(`direction is "${direction ?? ""}", expected LEFT or RIGHT`);
  return binary(direction === "LEFT" ? "shl" : "shr", value, distance);
});

const isInf = onOne((x, context) => {
  const whenSet = (name: string, op: "isposinf" | "isneginf") =>
    (context.int(name) ?? 1) === 0 ? constant("bool", 0) : test(op, x);
  return binary("or", whenSet("detect_positive", "isposinf"), whenSet("detect_negative", "isneginf"));
});

/** Bounds are attributes before opset 11, inputs since. */
const clip: Lower = (context) => {
  let value = operand(context, 0);
  for (const [index, name, op] of [
    [1, "min", "max"],
    [2, "max", "min"],
  ] as const) {
    const attribute = context.opset < 11 ? context.float(name) : undefined;
    if (attribute !== undefined) value = binary(op, value, like(value, attribute));
    if (context.opset >= 11 && context.hasInput(index)) {
      value = binary(op, value, convert(value.type, scalarInput(context, index)));
    }
  }
  setResult(context, value);
};

/** One element, whatever the rank that it is written with. */
function scalarInput(context: LowerContext, index: number): Expr {
  const expr = operand(context, index);
  if (expr.kind === "constant" || context.inputShape(index).length === 0) return expr;
  return load({ ...context.input(index), shape: [], strides: [] });
}

const where: Lower = (context) =>
  setResult(context, select(toBool(operand(context, 0)), operand(context, 1), operand(context, 2)));

/** Nothing is dropped outside of training; the mask, a number before opset 10, says that all is kept. */
const dropout: Lower = (context) => {
  const isTrained = context.opset >= 12 && context.hasInput(2) && context.knownElements(2)[0] !== 0;
  const ratio = isTrained && context.hasInput(1) ? context.knownElements(1)[0] : undefined;
  if (isTrained && ratio !== 0) context.fail("drops elements at random, as in training");
  setResult(context, operand(context, 0));
  if (context.hasOutput(1)) setResult(context, constant("bool", 1), 1);
};

/** Slopes broadcast to the input. */
const prelu = onTwo((x, slope) => select(compare("lt", x, like(x, 0)), multiply(x, slope), x));

/** x [N, C, …]: scale and shift of a channel, from running statistics. */
function batchNormalization(channelAxis: (rank: number) => number): Lower {
  return (context) => {
    const shape = context.inputShape(0);
    const axis = shape.length === 1 ? 0 : channelAxis(shape.length);
    if (context.int("training_mode") === 1)
      context.fail("normalizes with statistics of the batch, as in training");
    if (context.int("spatial") === 0) context.fail("has parameters for each position (spatial = 0)");
    for (let index = 1; index < context.outputCount; index++) {
      if (context.hasOutput(index)) context.fail(`output ${index} is a statistic of the batch`);
    }
    const { scale, shift } = channelParameters(context, axis, shape.length);
    const x = context.expr(0);
    setResult(context, add(multiply(x, convert(x.type, scale)), convert(x.type, shift)));
  };
}

/** scale / √(variance + ε), and bias - mean times that: computed once where they are constants. */
function channelParameters(context: LowerContext, axis: number, rank: number): { scale: Expr; shift: Expr } {
  const views = [1, 2, 3, 4].map((index) => alongAxis(context, rawView(context, index), axis, rank));
  const [scale, bias, mean, variance] = views.map((view) => load(view)) as [Expr, Expr, Expr, Expr];
  const widened = (expr: Expr) => convert(expr.type === "f64" ? "f64" : "f32", expr);
  const epsilon = context.float("epsilon") ?? 1e-5;
  const spread = unary("sqrt", add(widened(variance), like(widened(variance), epsilon)));
  const factor = divide(widened(scale), convert(widened(scale).type, spread));
  const product = multiply(convert(factor.type, mean), factor);
  const shift = subtract(convert(factor.type, bias), product);
  const type = factor.type === "f64" ? "float64" : "float32";
  const shape = views[0]?.shape ?? [];
  if (!views.every((view) => context.isConstant(view))) return { scale: factor, shift };
  return {
    scale: load(context.evaluate(factor, shape, type)),
    shift: load(context.evaluate(shift, shape, type)),
  };
}

export const elementwiseOps: LowerTable = {
  ...tableOf(unaryOps, (op) => onOne((x) => unary(op, x))),
  ...tableOf(binaryOps, (op) => onTwo((a, b) => binary(op, a, b))),
  ...tableOf(compareOps, (op) => onTwo((a, b) => compare(op, a, b))),
  ...tableOf(variadicOps, (op) => variadic((args, context) => overAll(op, args, context))),
  Mean: variadic((args, context) => {
    const sum = overAll("add", args, context);
    return divide(sum, like(sum, args.length));
  }),
  Mod: onTwo((a, b, context) => binary(context.int("fmod") === 1 ? "fmod" : "mod", a, b)),
  Pow: pow,
  BitShift: bitShift,
  IsInf: isInf,
  IsNaN: onOne((x) => test("isnan", x)),
  Clip: clip,
  Where: where,
  Dropout: dropout,
  PRelu: prelu,
  BatchNormalization: batchNormalization(() => 1),
  "com.ms.internal.nhwc::BatchNormalization": batchNormalization((rank) => rank - 1),
};
