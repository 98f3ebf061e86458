/** @file Operators whose elements follow from their coordinates: Trilu, Range, EyeLike, ConstantOfShape, OneHot. */

import type { Expr } from "../ir/expr.ts";
import {
  add,
  compare,
  constant,
  convert,
  index,
  like,
  load,
  multiply,
  select,
  subtract,
} from "../ir/expr-build.ts";
import { scalarOf } from "../ir/scalar.ts";
import { elementCount, reshaped, sliced } from "../ir/view.ts";
import type { Lower, LowerContext, LowerTable } from "./context.ts";
import { axisOf, operand, setResult } from "./elementwise-operands.ts";

/** The upper (or lower) triangle of the last two axes from diagonal k on; zeros elsewhere. */
const trilu: Lower = (context) => {
  const shape = context.outputShape(0);
  const isUpper = (context.int("upper") ?? 1) !== 0;
  const diagonal = context.hasInput(1) ? convert("i32", scalar(context, 1)) : constant("i32", 0);
  const distance = subtract(index(0, shape.at(-1) ?? 1), index(1, shape.at(-2) ?? 1));
  const x = operand(context, 0);
  setResult(context, select(compare(isUpper ? "ge" : "le", distance, diagonal), x, like(x, 0)));
};

/** The one element of an input of any rank. */
function scalar(context: LowerContext, at: number): Expr {
  const expr = operand(context, at);
  if (expr.kind === "constant" || context.inputShape(at).length === 0) return expr;
  return load({ ...context.input(at), shape: [], strides: [] });
}

/** start + i delta. */
const range: Lower = (context) => {
  const type = scalarOf(context.outputType(0));
  const [start, delta] = [convert(type, scalar(context, 0)), convert(type, scalar(context, 2))];
  const at = convert(type, index(0, context.outputShape(0)[0] ?? 1));
  setResult(context, add(start, multiply(at, delta)));
};

/** Every element is the attribute's one, by default 0. */
const constantOfShape: Lower = (context) => {
  const [value = 0] = context.tensorElements("value") ?? [];
  setResult(context, constant(scalarOf(context.outputType(0)), value));
};

/** values[1] where the index is the coordinate along the new axis, values[0] elsewhere; -1 is the last place. */
const oneHot: Lower = (context) => {
  const shape = context.outputShape(0);
  const axis = axisOf(context, context.int("axis") ?? -1, shape.length);
  const depth = shape[axis] ?? 1;
  const indices = context.packed(context.input(0));
  const apart = reshaped(indices, indices.shape.toSpliced(axis, 0, 1));
  if (apart === undefined) return context.fail("has indices that cannot be viewed with another axis");
  const given = convert("i32", load(apart));
  const wrapped = select(compare("lt", given, constant("i32", 0)), add(given, constant("i32", depth)), given);
  const isThere = compare("eq", wrapped, index(shape.length - 1 - axis, depth));
  const [off, on] = [0, 1].map((at) => valueAt(context, at)) as [Expr, Expr];
  setResult(context, select(isThere, on, off));
};

/** Of input 2, [off, on]. */
function valueAt(context: LowerContext, at: number): Expr {
  const known = context.elements(2)?.[at];
  if (known !== undefined) return constant(scalarOf(context.inputType(2)), known);
  const view = context.input(2);
  if (elementCount(view.shape) !== 2) context.fail(`has ${elementCount(view.shape)} values, expected 2`);
  return load({ ...sliced(view, 0, at, 1), shape: [], strides: [] });
}

/** Element by element. */
/** Ones where column - row = k. */
const eyeLike: Lower = (context) => {
  const [rows = 0, columns = 0] = context.outputShape(0);
  const type = scalarOf(context.outputType(0));
  const number = (value: number): Expr => ({ kind: "constant", type, value });
  const row: Expr = { kind: "index", type: "i32", axisFromRight: 1, size: rows };
  const column: Expr = { kind: "index", type: "i32", axisFromRight: 0, size: columns };
  const offset: Expr = { kind: "constant", type: "i32", value: context.int("k") ?? 0 };
  const diagonal: Expr = { kind: "binary", type: "i32", op: "add", args: [row, offset] };
  const condition: Expr = { kind: "compare", type: "bool", op: "eq", args: [column, diagonal] };
  context.setExpr(0, { kind: "select", type, condition, args: [number(1), number(0)] });
};

export const triluLowerings: LowerTable = { Trilu: trilu, "com.microsoft::Trilu": trilu };

export const indexLowerings: LowerTable = {
  Range: range,
  ConstantOfShape: constantOfShape,
  OneHot: oneHot,
  EyeLike: eyeLike,
};
