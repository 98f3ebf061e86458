/** @file The value of an expression for given values of its leaves, in JavaScript's numbers. */
import type { Expr } from "./expr.ts";
import {
  binaryValue,
  bitsValue,
  compareValue,
  narrowValue,
  testValue,
  unaryValue,
  valueAs,
} from "./expr-value.ts";

/**
 * `leaf` is asked for every node, the whole expression first: a number is the node's value; undefined or NaN leaves it
 * to be computed, or NaN where it is a load, a product or an index. Registers of f32 are rounded after each operation,
 * 64-bit integers are as exact as a double.
 */
export function evaluateExpr(expr: Expr, leaf: (node: Expr) => number | undefined): number {
  const known = new Map<Expr, number>();
  const visit = (node: Expr): number => {
    const before = known.get(node);
    if (before !== undefined) return before;
    const given = leaf(node);
    const value = given === undefined || Number.isNaN(given) ? computed(node, visit) : given;
    known.set(node, value);
    return value;
  };
  return visit(expr);
}

function computed(node: Expr, visit: (node: Expr) => number): number {
  switch (node.kind) {
    case "load":
    case "product":
    case "index":
      return Number.NaN;
    case "constant":
      return valueAs(node.type, node.value);
    case "unary":
      return unaryValue(node.op, node.type, visit(node.arg));
    case "binary":
      return binaryValue(node.op, node.type, visit(node.args[0]), visit(node.args[1]));
    case "compare":
      return compareValue(node.op, visit(node.args[0]), visit(node.args[1]));
    case "test":
      return testValue(node.op, visit(node.arg));
    case "select":
      return visit(node.condition) === 0 ? visit(node.args[1]) : visit(node.args[0]);
    case "convert":
      return valueAs(node.type, visit(node.arg));
    case "narrow":
      return narrowValue(node.to, visit(node.arg));
    case "bits":
      return bitsValue(node.type, visit(node.arg));
  }
}
