/** @file Nodes whose results nobody uses, and initializers that nobody reads. */
import { isConstant } from "../../facts/scope.ts";
import { isSparse } from "../../facts/stored.ts";
import { findOp } from "../../ops/registry.ts";
import type { Draft } from "./draft.ts";

/** Adds to `removed` the operators of the nodes that went. A node of an unknown operator may do more than compute. */
export function removeDeadNodes(draft: Draft, removed: string[]): boolean {
  const before = removed.length;
  for (const node of draft.nodes.reverse()) {
    const outputs = draft.outputsOf(node);
    if (outputs.length === 0 || outputs.some((name) => name !== "" && draft.isNeeded(name))) continue;
    if (findOp(node.domain, node.opType) === undefined && !draft.isCall(node)) continue;
    draft.remove(node);
    removed.push(node.opType);
  }
  return removed.length > before;
}

/** Names of stored initializers that can go. One that callers may override is part of the model's interface. */
export function deadInitializers(draft: Draft): readonly string[] {
  return [...draft.graph.values.values()].flatMap((value) => {
    if (!isConstant(value, draft.model) || draft.isNeeded(value.name)) return [];
    // Sparse initializers are kept apart in the file, where patches do not reach.
    return isSparse(value) ? [] : [value.name];
  });
}
