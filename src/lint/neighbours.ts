/** @file The nearest products before and behind a node, through whatever keeps the elements apart. */
import type { Scope } from "../facts/scope.ts";
import { pushAll } from "../ir/lists.ts";
import type { Node } from "../ir/model.ts";
import type { CostedProduct } from "./context.ts";
import { type ProductIndex, patternOf } from "./graph.ts";

/** Layers between a layout change and its product are few: a norm, an activation, a residual. */
const maxSteps = 64;

/** Products whose results reach the node through passes over memory, nearest first. */
export function productsBefore(node: Node, scope: Scope, index: ProductIndex): CostedProduct[] {
  return search(node, scope, index, (each) => each.inputs.flatMap((value) => value?.producer ?? []));
}

/** Products that read what the node computes, through passes over memory. */
export function productsBehind(node: Node, scope: Scope, index: ProductIndex): CostedProduct[] {
  return search(node, scope, index, (each) => each.outputs.flatMap((value) => value?.consumers ?? []));
}

function search(
  start: Node,
  scope: Scope,
  index: ProductIndex,
  next: (node: Node) => readonly Node[],
): CostedProduct[] {
  const found: CostedProduct[] = [];
  const seen = new Set<Node>([start]);
  const pending = [...next(start)];
  for (let node = pending.shift(); node !== undefined && seen.size <= maxSteps; node = pending.shift()) {
    if (seen.has(node) || node.graph !== scope.graph) continue;
    seen.add(node);
    const product = index.get(node, scope);
    if (product !== undefined) found.push(product);
    else if (patternOf(node, scope) !== undefined) pushAll(pending, next(node));
  }
  return found;
}
