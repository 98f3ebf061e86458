/** @file What brings heads to an operator that computes attention by itself, and its result back. */
import type { Node, Value } from "../ir/model.ts";
import { isTranspose, isView } from "../ops/ask.ts";
import { maxChain, resultChain } from "./attention-sizes.ts";
import { intsAttributeIn } from "./attributes.ts";
import type { Scope } from "./scope.ts";

/**
 * Views and Transposes before queries, keys and values and behind the result that a kernel which takes rows of heads anywhere reads
 * and writes through: rows stay whole, and nobody else wants what they give out.
 */
export function movesAround(attention: Node, scope: Scope): readonly Node[] {
  const moves = new Set<Node>();
  const isInside = (node: Node) => node === attention || moves.has(node);
  for (const operand of attention.inputs.slice(0, 3)) {
    let value = operand;
    for (let step = 0; step < maxChain && value?.producer !== undefined; step++) {
      const { producer }: Value = value;
      const isOwn: boolean = !value.isOutput && value.consumers.every(isInside);
      if (!isOwn || !keepsRows(producer, scope)) break;
      moves.add(producer);
      value = producer.inputs[0];
    }
  }
  const [result] = attention.outputs;
  for (const reader of result?.isOutput === true ? [] : resultChain(result, scope)) {
    if (!keepsRows(reader, scope) || reader.outputs[0]?.isOutput === true) break;
    moves.add(reader);
  }
  return [...moves];
}

/** Whether elements of the last axis, which are one head's, lie together behind a node if they do before it. */
function keepsRows(node: Node, scope: Scope): boolean {
  if (node.graph !== scope.graph || !isView(node)) return false;
  if (!isTranspose(node)) return true;
  const order = intsAttributeIn(node, "perm", scope);
  return order !== undefined && order.at(-1) === order.length - 1;
}

/** Of the last axis, where a Transpose moves it elsewhere: keys as a product wants them, and attention does not. */
export function turnsRows(node: Node, scope: Scope): "alone" | "with others" | undefined {
  const order = isTranspose(node) ? intsAttributeIn(node, "perm", scope) : undefined;
  if (order === undefined || order.length < 2 || order.at(-1) === order.length - 1) return undefined;
  const swapped = [...order.keys()].slice(0, -2).concat(order.length - 1, order.length - 2);
  return order.join() === swapped.join() ? "alone" : "with others";
}
