/** @file Formulas of activations as expressions. */
import type { Algebra } from "../../src/ir/activations.ts";
import type { Expr } from "./expr.ts";
import { add, binary, compare, divide, like, multiply, select, unary } from "./expr-build.ts";

export const expressions: Algebra<Expr> = {
  constant: like,
  add,
  multiply,
  divide,
  min: (a, b) => binary("min", a, b),
  max: (a, b) => binary("max", a, b),
  abs: (x) => unary("abs", x),
  neg: (x) => unary("neg", x),
  exp: (x) => unary("exp", x),
  log: (x) => unary("log", x),
  tanh: (x) => unary("tanh", x),
  sigmoid: (x) => unary("sigmoid", x),
  erf: (x) => unary("erf", x),
  below: (x, limit, then, otherwise) => select(compare("lt", x, like(x, limit)), then, otherwise),
  above: (x, limit, then, otherwise) => select(compare("gt", x, like(x, limit)), then, otherwise),
  ifZero: (x, then, otherwise) => select(compare("eq", x, like(x, 0)), then, otherwise),
};
