/** @file Whether an expression over a product is something that the product's epilogue does. */

import { pushAll } from "../../src/ir/lists.ts";
import { matchActivation } from "./activation-match.ts";
import { type Activation, noActivation, type PendingProduct } from "./epilogue.ts";
import type { Expr } from "./expr.ts";
import { binary, constant, unary } from "./expr-build.ts";
import { argumentsOf, nodesOf } from "./expr-walk.ts";
import { isHalfStorage } from "./storage.ts";

/** The epilogue in terms of expressions: `scale` and `bias` over one element a channel, `residual` over the output. */
export interface EpilogueMatch {
  readonly product: PendingProduct;
  readonly scale: Expr | undefined;
  readonly bias: Expr | undefined;
  readonly activation: Activation;
  readonly residual: Expr | undefined;
  readonly last: Activation;
}

interface Draft {
  scale: Expr | undefined;
  bias: Expr | undefined;
  activation: Activation;
  residual: Expr | undefined;
  last: Activation;
}

/** Expressions beyond this many nodes are no epilogue; the search is quadratic. */
const maxNodes = 64;

/** Undefined unless `expr` holds one product, and the whole of it is its epilogue. `shape` is the expression's. */
export function matchEpilogue(expr: Expr, shape: readonly number[]): EpilogueMatch | undefined {
  const nodes = nodesOf(expr);
  const leaves = nodes.filter((node) => node.kind === "product");
  const [leaf] = leaves;
  if (leaves.length !== 1 || leaf === undefined || nodes.length > maxNodes) return undefined;
  const { product } = leaf;
  if (!sameShape(product.shape, shape)) return undefined;
  const draft: Draft = {
    scale: undefined,
    bias: undefined,
    activation: noActivation,
    residual: undefined,
    last: noActivation,
  };
  const waists = waistsOf(expr, leaf, nodes);
  for (let at = 0; at + 1 < waists.length; ) {
    const next = absorb(waists, at, product, draft);
    if (next === undefined) return undefined;
    at = next;
  }
  return { product, ...draft };
}

function sameShape(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((size, axis) => size === b[axis]);
}

/** From the product to the whole: the nodes that every path between the two goes through. */
function waistsOf(expr: Expr, leaf: Expr, nodes: readonly Expr[]): Expr[] {
  const holds = new Set<Expr>([leaf]);
  for (const node of nodes) if (argumentsOf(node).some((arg) => holds.has(arg))) holds.add(node);
  return nodes.filter((node) => holds.has(node) && !reaches(expr, leaf, node));
}

/** Whether there is a path from `from` to `to` that avoids `without`. */
function reaches(from: Expr, to: Expr, without: Expr): boolean {
  const seen = new Set<Expr>();
  const visit = (node: Expr): boolean => {
    if (node === without || seen.has(node)) return false;
    if (node === to) return true;
    seen.add(node);
    return argumentsOf(node).some(visit);
  };
  return visit(from);
}

/** Takes what follows waist `at` into the draft; the index of the waist it got to, or undefined. */
function absorb(
  waists: readonly Expr[],
  at: number,
  product: PendingProduct,
  draft: Draft,
): number | undefined {
  const from = waists[at];
  const to = waists[at + 1];
  if (from === undefined || to === undefined) return undefined;
  if (absorbAffine(from, to, product, draft)) return at + 1;
  for (let end = waists.length - 1; end > at; end--) {
    const target = waists[end];
    if (target === undefined || !dependsOnConstantsOnly(target, from)) continue;
    const activation = matchActivation(target, from);
    if (activation !== undefined && setActivation(activation, draft)) return end;
  }
  return absorbResidual(from, to, product, draft) ? at + 1 : undefined;
}

/** Each node once: a square of a square, thirty times over, has a billion paths. */
function dependsOnConstantsOnly(expr: Expr, from: Expr): boolean {
  const seen = new Set<Expr>([from]);
  const pending = [expr];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    if (seen.has(node)) continue;
    seen.add(node);
    if (node.kind === "load" || node.kind === "product" || node.kind === "index") return false;
    pushAll(pending, argumentsOf(node));
  }
  return true;
}

function setActivation(activation: Activation, draft: Draft): boolean {
  if (activation.kind === "none") return true;
  if (draft.residual === undefined && draft.activation.kind === "none") draft.activation = activation;
  else if (draft.last.kind === "none") draft.last = activation;
  else return false;
  return true;
}

/** The other operand of a binary node, and whether `from` comes first. */
function otherOperand(from: Expr, to: Expr): { other: Expr; first: boolean } | undefined {
  if (to.kind !== "binary") return undefined;
  const [a, b] = to.args;
  if (a === from && b !== from) return { other: b, first: true };
  return b === from && a !== from ? { other: a, first: false } : undefined;
}

/** x + c, x - c, c - x, x · c, x / c with one c a channel (or one for all), before any activation. */
function absorbAffine(from: Expr, to: Expr, product: PendingProduct, draft: Draft): boolean {
  if (draft.activation.kind !== "none" || draft.residual !== undefined || draft.last.kind !== "none")
    return false;
  const operands = otherOperand(from, to);
  if (operands === undefined || to.kind !== "binary" || product.channelAxis === undefined) return false;
  const { other, first } = operands;
  if (!isPerChannel(other, product) || (to.op === "add" && isComputedRow(other, product))) return false;
  const { scale, bias } = draft;
  switch (to.op) {
    case "add":
      draft.bias = bias === undefined ? other : binary("add", bias, other);
      return true;
    case "sub":
      if (first) draft.bias = bias === undefined ? unary("neg", other) : binary("sub", bias, other);
      else {
        draft.scale = scale === undefined ? constant("f32", -1) : unary("neg", scale);
        draft.bias = bias === undefined ? other : binary("sub", other, bias);
      }
      return true;
    case "mul":
    case "div":
      if (to.op === "div" && !first) return false;
      draft.scale =
        scale === undefined && to.op === "mul" ? other : binary(to.op, scale ?? constant("f32", 1), other);
      draft.bias = bias === undefined ? undefined : binary(to.op, bias, other);
      return true;
    default:
      return false;
  }
}

/** Whether each load varies along the channel axis alone. */
function isPerChannel(expr: Expr, product: PendingProduct): boolean {
  const fromRight = product.shape.length - 1 - (product.channelAxis ?? 0);
  return nodesOf(expr).every((node) => {
    if (node.kind === "product" || node.kind === "index") return false;
    if (node.kind !== "load") return true;
    const { shape } = node.view;
    return shape.every((size, axis) => size === 1 || shape.length - 1 - axis === fromRight);
  });
}

/** Of one row's product, a bias and a residual look alike. What is computed as halves is added as it lies: biases are FP32, by a launch. */
function isComputedRow(expr: Expr, { shape }: PendingProduct): boolean {
  if (expr.kind !== "load" || !sameShape(expr.view.shape, shape)) return false;
  const { type, buffer } = expr.view;
  return isHalfStorage(type) && (buffer.kind === "temporary" || buffer.kind === "input");
}

/** x + r with r of the output's own shape, once. */
function absorbResidual(from: Expr, to: Expr, product: PendingProduct, draft: Draft): boolean {
  const operands = otherOperand(from, to);
  if (operands === undefined || to.kind !== "binary" || to.op !== "add") return false;
  if (draft.residual !== undefined || draft.last.kind !== "none") return false;
  const { other } = operands;
  const isFull = nodesOf(other).some(
    (node) => node.kind === "load" && sameShape(node.view.shape, product.shape),
  );
  if (!isFull || nodesOf(other).some(({ kind }) => kind === "product")) return false;
  draft.residual = other;
  return true;
}
