/** @file Products of quantized matrices: exact integer sums, then a scale. */

import type { Expr } from "../ir/expr.ts";
import { add, binary, convert, divide, like, load, multiply, narrow, unary } from "../ir/expr-build.ts";
import { scalarOf } from "../ir/scalar.ts";
import type { StorageType } from "../ir/storage.ts";
import { elementCount, type View } from "../ir/view.ts";
import { emitGenericGemm } from "../kernels/gemm/generic.ts";
import { emitCodeMatMul, emitScales } from "./code-products.ts";
import type { Lower, LowerContext, LowerTable } from "./context.ts";
import { rawView } from "./elementwise-operands.ts";
import { stacksOf } from "./product-matmul.ts";
import { ofRank, unsqueezed } from "./product-pending.ts";

const codeTypes: ReadonlySet<StorageType> = new Set(["int8", "uint8", "int16", "uint16"]);

interface Codes {
  /** Inputs of the operator: the codes, and their zero points. */
  readonly codes: number;
  readonly zeros: number;
}

/** Σ (a - zero of a) (b - zero of b), in memory, with the output's shape. */
function sumOfCodes(context: LowerContext, a: Codes, b: Codes, type: StorageType): View {
  const views = [context.input(a.codes), context.input(b.codes)] as const;
  for (const { type: code } of views) {
    if (!codeTypes.has(code)) {
      context.fail(`multiplies ${code}, supported are ${[...codeTypes].join(", ")}`);
    }
  }
  const stacks = stacksOf(...views);
  const rank = stacks.a.shape.length;
  const sum = context.temporary(type, context.outputShape(0));
  const [rows, columns] = [stacks.a.shape.at(-2) ?? 1, stacks.b.shape.at(-1) ?? 1];
  const zeroA = zerosOf(context, a.zeros, rank, rows, "rows");
  const zeroB = zerosOf(context, b.zeros, rank, columns, "columns");
  emitGenericGemm(context, { a: stacks.a, b: stacks.b, to: stacks.place(sum), zeroA, zeroB });
  return sum;
}

/** Zero points as [...batch, rows or columns]: given as one, as a list, or with the matrices' rank. */
function zerosOf(
  context: LowerContext,
  index: number,
  rank: number,
  count: number,
  along: "rows" | "columns",
): View | undefined {
  if (!context.hasInput(index)) return undefined;
  const view = context.input(index);
  if (elementCount(view.shape) === 1) {
    return { ...view, shape: new Array(rank - 1).fill(1), strides: new Array(rank - 1).fill(0) };
  }
  if (view.shape.length === 1) return listOf(context, view, rank, count);
  const dropped = along === "rows" ? rank - 1 : rank - 2;
  if (view.shape.length !== rank || view.shape[dropped] !== 1) {
    return context.fail(
      `has zero points of [${view.shape.join(",")}], expected one for each of the ${along}`,
    );
  }
  return {
    ...view,
    shape: view.shape.toSpliced(dropped, 1),
    strides: view.strides.toSpliced(dropped, 1),
  };
}

function listOf(context: LowerContext, view: View, rank: number, count: number): View {
  if (view.shape[0] !== count) context.fail(`has ${view.shape[0]} zero points, expected ${count}`);
  return ofRank(view, rank - 1);
}

/** A scale that broadcasts over [...batch, m, n]: a list of a's runs along m. */
function scaleOf(context: LowerContext, index: number, along: "rows" | "columns"): Expr {
  const view = rawView(context, index);
  const placed =
    along === "rows" && view.shape.length === 1 && view.shape[0] !== 1 ? unsqueezed(view, 1) : view;
  return convert("f32", load(placed));
}

/** Undefined where it is left out, or known to be 0. */
function zeroOf(context: LowerContext, index: number): View | undefined {
  const isZero = context.elements(index)?.every((element) => element === 0);
  return context.hasInput(index) && isZero !== true ? context.input(index) : undefined;
}

const matMulInteger: Lower = (context) => {
  const [a, b] = [context.input(0), context.input(1)];
  const to = context.temporary(context.outputType(0), context.outputShape(0));
  const isTaken =
    to.type === "int32" && emitCodeMatMul(context, { a, b, to, ...zeros(context, 2, 3), epilogue: {} });
  context.setOutput(
    0,
    isTaken ? to : sumOfCodes(context, { codes: 0, zeros: 2 }, { codes: 1, zeros: 3 }, to.type),
  );
};

function zeros(context: LowerContext, a: number, b: number) {
  return { zeroA: zeroOf(context, a), zeroB: zeroOf(context, b) };
}

const codeRanges: Readonly<Partial<Record<StorageType, readonly [number, number]>>> = {
  int8: [-128, 127],
  uint8: [0, 255],
};

function isOne(context: LowerContext, ...indices: readonly number[]): boolean {
  return indices.every((index) => elementCount(context.inputShape(index)) === 1);
}

/** Whether scales of b are one for all, or one a column. */
function isColumns(context: LowerContext, scale: number, b: number): boolean {
  const shape = context.inputShape(scale);
  const count = elementCount(shape);
  return count === 1 || (count === context.inputShape(b).at(-1) && count === shape.at(-1));
}

/** a, its scale and zero point; b, likewise; scale and zero point of y. */
const qLinearMatMul: Lower = (context) => {
  const type = context.outputType(0);
  const range = codeRanges[type] ?? context.fail(`quantizes to ${type}, supported are int8 and uint8`);
  if (isOne(context, 1, 6) && isColumns(context, 4, 3)) {
    const [a, b] = [context.input(0), context.input(3)];
    const to = context.temporary(type, context.outputShape(0));
    const scale = emitScales(context, rawView(context, 1), rawView(context, 4), rawView(context, 6));
    const epilogue = { scale, zeroOut: zeroOf(context, 7) };
    if (emitCodeMatMul(context, { a, b, to, ...zeros(context, 2, 5), epilogue }))
      return context.setOutput(0, to);
  }
  const sum = sumOfCodes(context, { codes: 0, zeros: 2 }, { codes: 3, zeros: 5 }, "int32");
  const both = multiply(scaleOf(context, 1, "rows"), scaleOf(context, 4, "columns"));
  const real = multiply(convert("f32", load(sum)), divide(both, scaleOf(context, 6, "rows")));
  const code = unary("round", real);
  const moved = context.hasInput(7) ? add(code, convert("f32", load(context.input(7)))) : code;
  const bounded = binary("min", binary("max", moved, like(moved, range[0])), like(moved, range[1]));
  const whole = convert(scalarOf(type), convert("i32", bounded));
  context.setExpr(0, narrow(type === "int8" ? "int8" : "uint8", whole));
};

/** A, B, their scales, their zero points, a bias. */
const matMulIntegerToFloat: Lower = (context) => {
  if (isOne(context, 2) && isColumns(context, 3, 1)) {
    const to = context.temporary(context.outputType(0), context.outputShape(0));
    const scale = emitScales(context, rawView(context, 2), rawView(context, 3), undefined);
    const bias = context.hasInput(6) ? context.packed(rawView(context, 6), { type: "float32" }) : undefined;
    const [a, b] = [context.input(0), context.input(1)];
    const epilogue = { scale, bias };
    if (emitCodeMatMul(context, { a, b, to, ...zeros(context, 4, 5), epilogue }))
      return context.setOutput(0, to);
  }
  const sum = sumOfCodes(context, { codes: 0, zeros: 4 }, { codes: 1, zeros: 5 }, "int32");
  const scale = multiply(scaleOf(context, 2, "rows"), scaleOf(context, 3, "columns"));
  const real = multiply(convert("f32", load(sum)), scale);
  context.setExpr(0, context.hasInput(6) ? add(real, convert("f32", context.expr(6))) : real);
};

export const integerProductLowerings: LowerTable = {
  MatMulInteger: matMulInteger,
  QLinearMatMul: qLinearMatMul,
  "com.microsoft::MatMulInteger16": matMulInteger,
  "com.microsoft::MatMulIntegerToFloat": matMulIntegerToFloat,
};
