/** @file Expressions as their definitions say, as far as data movement needs them. */

import type { Expr } from "../../../cuda-runtime/ir/expr.ts";
import { expanded, type View } from "../../../cuda-runtime/ir/view.ts";

export function valueOfExpr(
  expr: Expr,
  position: readonly number[],
  read: (view: View) => ArrayLike<number>,
): number {
  const value = (arg: Expr) => valueOfExpr(arg, position, read);
  switch (expr.kind) {
    case "load":
      return loaded(expr.view, position, read);
    case "constant":
      return expr.value;
    case "index":
      return expr.size === 1 ? 0 : (position.at(-1 - expr.axisFromRight) ?? 0);
    case "convert":
      return expr.type.startsWith("f") ? value(expr.arg) : Math.trunc(value(expr.arg));
    case "select":
      return value(expr.condition) !== 0 ? value(expr.args[0]) : value(expr.args[1]);
    case "compare":
      return compared(expr.op, value(expr.args[0]), value(expr.args[1])) ? 1 : 0;
    case "binary":
      return combined(expr.op, value(expr.args[0]), value(expr.args[1]));
    default:
      throw new Error(`an expression of kind ${expr.kind}`);
  }
}

function loaded(view: View, position: readonly number[], read: (view: View) => ArrayLike<number>): number {
  const missing = position.length - view.shape.length;
  const one = expanded(view, view.shape);
  const offset = one.strides.reduce(
    (sum, stride, axis) => sum + (view.shape[axis] === 1 ? 0 : stride * (position[axis + missing] ?? 0)),
    one.offset,
  );
  return read({ ...view, shape: [1], strides: [1], offset })[0] ?? Number.NaN;
}

function compared(op: string, a: number, b: number): boolean {
  if (op === "lt") return a < b;
  if (op === "ge") return a >= b;
  throw new Error(`the comparison ${op}`);
}

function combined(op: string, a: number, b: number): number {
  if (op === "add") return a + b;
  if (op === "sub") return a - b;
  if (op === "mul") return a * b;
  if (op === "mod") return ((a % b) + b) % b;
  throw new Error(`the operation ${op}`);
}
