/** @file What lowerings of elementwise operators share: inputs as expressions, outputs of the type they are stored as. */

import { textOf } from "../../src/ir/message.ts";
import type { Expr } from "../ir/expr.ts";
import { convert, load, narrow, storedConstant } from "../ir/expr-build.ts";
import { scalarOf } from "../ir/scalar.ts";
import { isSmallInteger } from "../ir/storage.ts";
import { elementCount, reshaped, type View } from "../ir/view.ts";
import type { Lower, LowerContext } from "./context.ts";

/** The input as an expression; a constant where it is one known number. */
export function operand(context: LowerContext, index: number): Expr {
  if (elementCount(context.inputShape(index)) === 1) {
    const [value] = context.elements(index) ?? [];
    const type = scalarOf(context.inputType(index));
    const isExact = (type !== "i64" && type !== "u64") || Number.isSafeInteger(value);
    if (value !== undefined && isExact) return storedConstant(type, value, context.modelType(index));
  }
  return context.expr(index);
}

export function operands(context: LowerContext): Expr[] {
  return Array.from({ length: context.inputCount }, (_, index) => index)
    .filter((index) => context.hasInput(index))
    .map((index) => operand(context, index));
}

/** The output is the expression, in the type that it is stored as; small integers wrap. */
export function setResult(context: LowerContext, expr: Expr, index = 0): void {
  if (!context.hasOutput(index)) return;
  const type = context.outputType(index);
  const value = convert(scalarOf(type), expr);
  context.setExpr(index, isSmallInteger(type) ? narrow(type, value) : value);
}

/** A lowering from the operands to the result. */
export function elementwise(f: (args: readonly Expr[], context: LowerContext) => Expr): Lower {
  return (context) => setResult(context, f(operands(context), context));
}

export function onOne(f: (x: Expr, context: LowerContext) => Expr): Lower {
  return elementwise((args, context) => f(argument(args, 0, context), context));
}

export function onTwo(f: (a: Expr, b: Expr, context: LowerContext) => Expr): Lower {
  return elementwise((args, context) => f(argument(args, 0, context), argument(args, 1, context), context));
}

export function argument(args: readonly Expr[], index: number, context: LowerContext): Expr {
  return args[index] ?? context.fail(`has ${args.length} inputs, expected at least ${index + 1}`);
}

/** A list along one axis of the shape, so that it broadcasts to it. */
export function alongAxis(context: LowerContext, view: View, axis: number, rank: number): View {
  const count = elementCount(view.shape);
  const shape = Array.from({ length: rank }, (_, at) => (at === axis ? count : 1));
  return reshaped(view, shape) ?? context.fail(`takes a list of ${count} elements that is not one in memory`);
}

/** The input in memory as it happens to be stored: a weight is not rounded to halves first. */
export function rawView(context: LowerContext, index: number): View {
  const expr = context.expr(index);
  return expr.kind === "load" ? expr.view : context.input(index);
}

/** Input `index`, a list or one number, along an axis of a tensor of `rank`. */
export function listOperand(context: LowerContext, index: number, axis: number, rank: number): Expr {
  const count = elementCount(context.inputShape(index));
  return count === 1
    ? operand(context, index)
    : load(alongAxis(context, rawView(context, index), axis, rank));
}

/** A negative axis counts from the end. */
export function axisOf(context: LowerContext, named: number, rank: number): number {
  const axis = named < 0 ? named + rank : named;
  if (axis < 0 || axis >= rank) context.fail(textOf`axis ${named} is outside a tensor of rank ${rank}`);
  return axis;
}
