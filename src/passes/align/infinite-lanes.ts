/** @file Padded lanes that infinity makes NaN of, where an operator makes numbers of the true ones: which, and what lets them be padded. */
import { labelOf, type Node, operatorOf, type Value } from "../../ir/model.ts";
import type { Failure, Lane } from "../../ops/axes.ts";

/** Why a sum at `node` over `failing` lanes stops padding. Nothing allows it: a proof tries infinite inputs, and refutes NaN behind such an operator. */
export function infinityReason(node: Node, failing: Value, lanes: ReadonlyMap<Value, Lane>): string {
  const bounding = firstOf("alone", failing.producer ?? node, lanes);
  const product = firstOf("along", bounding, lanes);
  const [where, reads] = [named(node), product === node ? "it" : named(product)];
  const takes = bounding === node ? "it" : named(bounding);
  return `${where} sums over it: infinity that ${reads} may read leaves NaN (0 · ∞) in padded lanes, where ${takes} takes the others to a number again; no flag allows it, but bounding what ${reads} reads does (such as torch.clamp(x, -65504, 65504))`;
}

/** Where lanes that fail so come from: the last node on the way back whose own operands do not. */
function firstOf(fails: Failure, start: Node, lanes: ReadonlyMap<Value, Lane>): Node {
  const isFailing = (value: Value | undefined) => value !== undefined && lanes.get(value)?.fails === fails;
  let node = start;
  for (;;) {
    const before = node.inputs.find(isFailing)?.producer;
    if (before === undefined) return node;
    node = before;
  }
}

function named(node: Node): string {
  return `${operatorOf(node)} "${labelOf(node)}"`;
}
