/** @file Activations that com.microsoft names in an attribute of the operator before them. */

import type { Expr } from "../ir/expr.ts";
import { add, binary, compare, like, multiply, select, unary } from "../ir/expr-build.ts";
import type { LowerContext } from "./context.ts";

type Formula = (x: Expr, alpha: number | undefined, beta: number | undefined) => Expr;

function times(x: Expr, factor: number): Expr {
  return multiply(x, like(x, factor));
}

function plus(x: Expr, distance: number): Expr {
  return add(x, like(x, distance));
}

function between(x: Expr, low: number, high: number): Expr {
  return binary("min", binary("max", x, like(x, low)), like(x, high));
}

function belowZero(x: Expr, below: Expr): Expr {
  return select(compare("lt", x, like(x, 0)), below, x);
}

const formulas: Readonly<Record<string, Formula>> = {
  Relu: (x) => binary("max", x, like(x, 0)),
  LeakyRelu: (x, alpha = 0.01) => belowZero(x, times(x, alpha)),
  Sigmoid: (x) => unary("sigmoid", x),
  Tanh: (x) => unary("tanh", x),
  HardSigmoid: (x, alpha = 0.2, beta = 0.5) => between(plus(times(x, alpha), beta), 0, 1),
  Clip: (x, low = Number.NEGATIVE_INFINITY, high = Number.POSITIVE_INFINITY) => between(x, low, high),
  Elu: (x, alpha = 1) => belowZero(x, times(plus(unary("exp", x), -1), alpha)),
};

/** What the attribute `name` asks for, with its parameters in `name_alpha` and `name_beta`; undefined for nothing. */
export function fusedActivation(context: LowerContext, name: string): ((x: Expr) => Expr) | undefined {
  const kind = context.string(name) ?? "";
  if (kind === "") return undefined;
  const formula = Object.hasOwn(formulas, kind) ? formulas[kind] : undefined;
  if (formula === undefined) {
    return context.fail(`fuses the activation ${kind}, supported are ${Object.keys(formulas).join(", ")}`);
  }
  const [alpha, beta] = [context.float(`${name}_alpha`), context.float(`${name}_beta`)];
  return (x) => formula(x, alpha, beta);
}

/** x/2 (1 + tanh(√(2/π) (x + 0.044715 x³))) */
export function tanhGelu(x: Expr): Expr {
  const cube = multiply(multiply(x, x), x);
  const inner = times(add(x, times(cube, 0.044715)), Math.sqrt(2 / Math.PI));
  return multiply(times(x, 0.5), plus(unary("tanh", inner), 1));
}
