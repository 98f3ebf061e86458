/** @file Masks that a stack computes once, ahead of time, from a large negative number: no node that runs shows it. */
import { attributeIn } from "../facts/attributes.ts";
import type { Scope } from "../facts/scope.ts";
import type { Node, Value } from "../ir/model.ts";
import { isFilled } from "../ops/ask.ts";
import { ConstantValues } from "../workload/constants.ts";
import { constantElements } from "./graph.ts";

/** Exporters make a causal mask of about ten nodes. */
const maxNodes = 32;

/** The lowest number among the constants that a computed, but fixed value is made of; 0 for any other value. */
export function lowestBehind(value: Value, scope: Scope): number {
  const constants = ConstantValues.of(scope);
  const seen = new Set<Node>();
  const pending = [value];
  let lowest = 0;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    for (const element of constantElements(next, scope) ?? []) {
      if (Number.isFinite(element) && element < lowest) lowest = element;
    }
    const { producer } = next;
    if (producer === undefined || seen.has(producer) || !constants.has(producer)) continue;
    seen.add(producer);
    if (seen.size > maxNodes) return lowest;
    lowest = Math.min(lowest, filler(producer, scope));
    for (const input of producer.inputs) if (input !== undefined) pending.push(input);
  }
  return lowest;
}

/** What a ConstantOfShape fills its result with. */
function filler(node: Node, scope: Scope): number {
  const value = isFilled(node) ? attributeIn(node, "value", scope) : undefined;
  if (value?.type !== "tensor") return 0;
  const [element = 0] = scope.model.reader.elements(value.tensor, 1) ?? [];
  return Number.isFinite(element) ? element : 0;
}
