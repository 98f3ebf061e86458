/** @file Between real numbers and codes: QuantizeLinear, DequantizeLinear, and operators over codes. */

import type { Expr } from "../ir/expr.ts";
import {
  add,
  binary,
  constant,
  convert,
  divide,
  like,
  load,
  multiply,
  select,
  subtract,
  toBool,
  unary,
} from "../ir/expr-build.ts";
import { isFloatScalar } from "../ir/expr-value.ts";
import { scalarOf } from "../ir/scalar.ts";
import { decoded, encoded } from "../ir/small-float-expr.ts";
import { isCodeStorage, type StorageType } from "../ir/storage.ts";
import { elementCount, type View } from "../ir/view.ts";
import { isCodeType } from "../kernels/gemm-int8/codes.ts";
import { emitReduce } from "../kernels/reduce/reduce.ts";
import type { Lower, LowerContext, LowerTable } from "./context.ts";
import { axisOf, listOperand, operand, rawView, setResult } from "./elementwise-operands.ts";
import { blocksOf, inBlocks } from "./quantize-blocks.ts";

const codeRanges: Readonly<Partial<Record<StorageType, readonly [number, number]>>> = {
  int8: [-128, 127],
  uint8: [0, 255],
  int16: [-32768, 32767],
  uint16: [0, 65535],
  int4: [-8, 7],
  uint4: [0, 15],
  int2: [-2, 1],
  uint2: [0, 3],
};

/** Nearest code of x / scale + zero: halves to even, then the zero point, then into the type's range. */
function quantized(
  context: LowerContext,
  x: Expr,
  scale: Expr,
  zero: Expr | undefined,
  type: StorageType,
): Expr {
  if (isCodeStorage(type)) {
    // Zero points of floats are 0.
    const saturates = (context.int("saturate") ?? 1) !== 0;
    return encoded(type, divide(convert("f32", x), convert("f32", scale)), saturates);
  }
  const range = codeRanges[type];
  if (range === undefined)
    return context.fail(`quantizes to ${type}, supported are ${Object.keys(codeRanges).join(", ")}`);
  const real = convert("f32", x);
  const code = unary("round", divide(real, convert("f32", scale)));
  const moved = zero === undefined ? code : add(code, convert("f32", zero));
  const bounded = binary("min", binary("max", moved, like(moved, range[0])), like(moved, range[1]));
  return convert(scalarOf(type), convert("i32", bounded));
}

/** (code - zero) scale, the difference in whole numbers. */
function dequantized(code: Expr, scale: Expr, zero: Expr | undefined): Expr {
  const type = scale.type === "f64" ? "f64" : "f32";
  if (isFloatScalar(code.type)) {
    return multiply(
      zero === undefined ? code : subtract(code, convert(code.type, zero)),
      convert(code.type, scale),
    );
  }
  const whole = convert("i32", code);
  const distance = zero === undefined ? whole : subtract(whole, convert("i32", zero));
  return multiply(convert(type, distance), convert(type, scale));
}

/** Scale and zero point (inputs 1 and 2) of each element, one for all or one for a position of the axis. */
function parametersAlongAxis(context: LowerContext): { scale: Expr; zero: Expr | undefined } {
  const shape = context.inputShape(0);
  const axis = shape.length < 2 ? 0 : axisOf(context, context.int("axis") ?? 1, shape.length);
  const at = (index: number) => listOperand(context, index, axis, shape.length);
  return { scale: at(1), zero: context.hasInput(2) ? at(2) : undefined };
}

function isBlocked(context: LowerContext): boolean {
  return (
    context.inputShape(1).length > 1 &&
    elementCount(context.inputShape(1)) > 1 &&
    context.inputShape(1).length === context.inputShape(0).length
  );
}

type Convert = (context: LowerContext, x: Expr, scale: Expr, zero: Expr | undefined) => Expr;

const quantize: Convert = (context, x, scale, zero) =>
  quantized(context, x, scale, zero, context.outputType(0));
const dequantize: Convert = (context, x, scale, zero) => {
  const type = context.inputType(0);
  if (!isCodeStorage(type)) return dequantized(x, scale, zero);
  return multiply(decoded(type, x), convert("f32", scale));
};

/** Floats that were rounded as they were made are stored as these codes. */
function isRounded(context: LowerContext): boolean {
  return isCodeType(context.inputType(0)) && context.modelType(0) !== context.inputType(0);
}

function linear(f: Convert): Lower {
  return (context) => {
    if (isRounded(context)) return context.setOutput(0, context.input(0));
    if (isBlocked(context)) return lowerBlocks(context, f);
    const { scale, zero } = parametersAlongAxis(context);
    setResult(context, f(context, operand(context, 0), scale, zero));
  };
}

/** A scale for each block of positions along an axis: the axis is taken apart, so that scales broadcast. */
function lowerBlocks(context: LowerContext, f: Convert): void {
  const shape = context.inputShape(0);
  const axis = axisOf(context, context.int("axis") ?? 1, shape.length);
  const blocks = blocksOf(context, shape[axis] ?? 1, context.inputShape(1)[axis] ?? 1);
  const [x, scale] = [context.input(0), rawView(context, 1)];
  const zero = context.hasInput(2) ? context.input(2) : undefined;
  if (zero !== undefined && zero.shape.join() !== scale.shape.join())
    context.fail(`has zero points [${zero.shape.join(",")}] for scales [${scale.shape.join(",")}]`);
  const to = context.output(0);
  for (const part of blocks) {
    const parameter = (view: View) => load(inBlocks(view, axis, part.parameters));
    const expr = f(
      context,
      load(inBlocks(x, axis, part.elements)),
      parameter(scale),
      zero === undefined ? undefined : parameter(zero),
    );
    const target = inBlocks(to, axis, part.elements);
    context.evaluateInto(convert(scalarOf(to.type), expr), target);
  }
}

/** x to codes of uint8, with scale and zero point from its smallest and largest element. */
const dynamicQuantize: Lower = (context) => {
  const x = context.input(0);
  const axes = new Set(x.shape.keys());
  const extreme = (combine: "min" | "max"): Expr => {
    const output = context.temporary(
      "float32",
      x.shape.map(() => 1),
    );
    const request = { pre: "none", combine, post: "none", divisor: 1 } as const;
    emitReduce(context, {
      ...request,
      input: x,
      axes,
      output,
      integersAs: "integer",
    });
    return load({ ...output, shape: [], strides: [] });
  };
  const zeroNumber = constant("f32", 0);
  const low = binary("min", extreme("min"), zeroNumber);
  const high = binary("max", extreme("max"), zeroNumber);
  const range = divide(subtract(high, low), constant("f32", 255));
  // All zeros: any scale does.
  const scaleExpr = select(
    { kind: "compare", type: "bool", op: "eq", args: [range, zeroNumber] },
    constant("f32", 1),
    range,
  );
  const scale = load(context.evaluate(scaleExpr, [], "float32"));
  const zeroCode = unary(
    "round",
    binary("min", binary("max", divide(unary("neg", low), scale), zeroNumber), constant("f32", 255)),
  );
  const zero = load(context.evaluate(convert("u32", zeroCode), [], "uint8"));
  setResult(context, quantized(context, load(x), scale, zero, "uint8"));
  setResult(context, scale, 1);
  setResult(context, zero, 2);
};

/** A code with scale and zero point in the two inputs after it, as a real number. */
function realOperand(context: LowerContext, index: number): Expr {
  const zero = context.hasInput(index + 2) ? operand(context, index + 2) : undefined;
  return dequantized(operand(context, index), operand(context, index + 1), zero);
}

/** The result as codes of the output's type, whose scale and zero point are at `index`. */
function setCodes(context: LowerContext, value: Expr, index: number): void {
  const zero = context.hasInput(index + 1) ? operand(context, index + 1) : undefined;
  setResult(context, quantized(context, value, operand(context, index), zero, context.outputType(0)));
}

const qLinearLeakyRelu: Lower = (context) => {
  const x = realOperand(context, 0);
  const below = multiply(x, like(x, context.float("alpha") ?? 0.01));
  const isBelow: Expr = { kind: "compare", type: "bool", op: "lt", args: [x, like(x, 0)] };
  setCodes(context, select(isBelow, below, x), 3);
};

const qLinearWhere: Lower = (context) => {
  const [whenTrue, whenFalse] = [realOperand(context, 1), realOperand(context, 4)];
  setCodes(context, select(toBool(operand(context, 0)), whenTrue, whenFalse), 7);
};

/** (a - zero of a) (b - zero of b) in int32. */
const mulInteger: Lower = (context) => {
  const distance = (index: number) => {
    const code = convert("i32", operand(context, index));
    return context.hasInput(index + 1) ? subtract(code, convert("i32", operand(context, index + 1))) : code;
  };
  setResult(context, multiply(distance(0), distance(2)));
};

/** Element by element. */
export const quantizeLowerings: LowerTable = {
  QuantizeLinear: linear(quantize),
  DequantizeLinear: linear(dequantize),
  "com.microsoft::QuantizeLinear": linear(quantize),
  "com.microsoft::DequantizeLinear": linear(dequantize),
  "com.microsoft::QLinearAdd": (context) =>
    setCodes(context, add(realOperand(context, 0), realOperand(context, 3)), 6),
  "com.microsoft::QLinearMul": (context) =>
    setCodes(context, multiply(realOperand(context, 0), realOperand(context, 3)), 6),
  "com.microsoft::QLinearSigmoid": (context) =>
    setCodes(context, unary("sigmoid", realOperand(context, 0)), 3),
  "com.microsoft::QLinearLeakyRelu": qLinearLeakyRelu,
  "com.microsoft::QLinearWhere": qLinearWhere,
  "com.microsoft::MulInteger": mulInteger,
};

/** With a look at all elements first. */
export const dynamicQuantizeLowerings: LowerTable = { DynamicQuantizeLinear: dynamicQuantize };
