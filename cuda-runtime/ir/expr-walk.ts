/** @file Walks over expressions: they are graphs, so each node is visited once. */

import type { PendingProduct } from "./epilogue.ts";
import type { Expr } from "./expr.ts";

export function argumentsOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case "load":
    case "product":
    case "constant":
    case "index":
      return [];
    case "unary":
    case "test":
    case "convert":
    case "narrow":
    case "bits":
      return [expr.arg];
    case "binary":
    case "compare":
      return expr.args;
    case "select":
      return [expr.condition, ...expr.args];
  }
}

/** The expression and everything below it, arguments first. */
export function nodesOf(expr: Expr): Expr[] {
  const seen = new Set<Expr>();
  const pending = [expr];
  for (let node = pending.at(-1); node !== undefined; node = pending.at(-1)) {
    const open = seen.has(node) ? [] : argumentsOf(node).filter((arg) => !seen.has(arg));
    for (const arg of open.toReversed()) pending.push(arg);
    if (open.length > 0) continue;
    seen.add(node);
    pending.pop();
  }
  return [...seen];
}

/** Chains beyond this are stored in between: registers, and the time to compile. */
const maxChainNodes = 96;
const maxChainLoads = 12;

/** Whether these together are more than one kernel should hold. */
export function isLargeChain(...exprs: readonly Expr[]): boolean {
  let [nodes, loads] = [0, 0];
  for (const expr of exprs) {
    for (const { kind } of nodesOf(expr)) {
      nodes += 1;
      if (kind === "load") loads += 1;
    }
  }
  return nodes > maxChainNodes || loads > maxChainLoads;
}

export function productsIn(expr: Expr): PendingProduct[] {
  const products = new Set<PendingProduct>();
  for (const node of nodesOf(expr)) if (node.kind === "product") products.add(node.product);
  return [...products];
}

/** With nodes of `replacements` replaced, by identity; parts that do not change are shared. */
export function substitute(expr: Expr, replacements: ReadonlyMap<Expr, Expr>): Expr {
  const done = new Map<Expr, Expr>(replacements);
  for (const node of nodesOf(expr)) {
    if (!done.has(node))
      done.set(
        node,
        rebuilt(node, (arg) => done.get(arg) ?? arg),
      );
  }
  return done.get(expr) ?? expr;
}

function rebuilt(node: Expr, map: (arg: Expr) => Expr): Expr {
  if (argumentsOf(node).every((arg) => map(arg) === arg)) return node;
  switch (node.kind) {
    case "load":
    case "product":
    case "constant":
    case "index":
      return node;
    case "unary":
    case "test":
    case "convert":
    case "narrow":
    case "bits":
      return { ...node, arg: map(node.arg) };
    case "binary":
    case "compare":
      return { ...node, args: [map(node.args[0]), map(node.args[1])] };
    case "select":
      return { ...node, condition: map(node.condition), args: [map(node.args[0]), map(node.args[1])] };
  }
}
