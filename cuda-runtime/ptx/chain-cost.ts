/** @file About how many instructions an element of a chain takes: for how many elements a thread gets. */
import type { BinaryOp, UnaryOp } from "../ir/expr.ts";
import type { ChainGraph, ChainNode } from "./graph.ts";

const unaryCosts: Readonly<Partial<Record<UnaryOp, number>>> = {
  sqrt: 8,
  rsqrt: 16,
  reciprocal: 8,
  exp: 16,
  log: 35,
  sin: 60,
  cos: 60,
  tan: 70,
  asin: 50,
  acos: 50,
  atan: 35,
  sinh: 60,
  cosh: 35,
  tanh: 40,
  asinh: 110,
  acosh: 110,
  atanh: 70,
  erf: 25,
  sigmoid: 26,
};

const fastCosts: Readonly<Partial<Record<UnaryOp, number>>> = {
  exp: 2,
  sigmoid: 4,
  tanh: 8,
  erf: 16,
  sqrt: 2,
  rsqrt: 1,
  reciprocal: 3,
};

const binaryCosts: Readonly<Partial<Record<BinaryOp, number>>> = { div: 10, mod: 120, fmod: 110, pow: 110 };

/** 64-bit arithmetic is several instructions, or slow ones. */
const wideFactor = 3;

export function costOf(graph: ChainGraph, isFast: boolean): number {
  return graph.nodes.reduce((sum, node) => sum + nodeCost(node, isFast), 1);
}

function nodeCost({ expr }: ChainNode, isFast: boolean): number {
  const factor = expr.type === "f64" || expr.type === "i64" || expr.type === "u64" ? wideFactor : 1;
  switch (expr.kind) {
    case "constant":
      return 0;
    case "unary":
      return factor * ((isFast ? fastCosts[expr.op] : undefined) ?? unaryCosts[expr.op] ?? 1);
    case "binary":
      return factor * (isFast && expr.op === "div" ? 3 : (binaryCosts[expr.op] ?? 1));
    default:
      return factor;
  }
}
