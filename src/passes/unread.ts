/** @file What nobody reads after a rewrite: Transposes and constants of the old layout, sizes of the old batch. */
import { isConstant } from "../facts/scope.ts";
import { isSparse } from "../facts/stored.ts";
import type { Graph, Node } from "../ir/model.ts";
import type { GraphPatch } from "../ir/patch.ts";
import { findOp } from "../ops/registry.ts";
import type { PassContext } from "./pass.ts";

/** Only what lost its readers by the patch; what had none before stays, as everything else that is no business of ours. */
export function removeUnread(graph: Graph, patch: GraphPatch, { model, facts }: PassContext): void {
  const reads = countReads(graph, patch);
  for (const node of [...graph.nodes].reverse()) {
    const specs = patch.nodes.get(node);
    const isKept = specs === undefined || (specs.length === 1 && specs[0]?.base === node);
    const hadReaders = node.outputs.some((value) => value !== undefined && value.consumers.length > 0);
    const isNeeded = node.outputs.some(
      (value) => value !== undefined && (value.isOutput || (reads.get(value.name) ?? 0) > 0),
    );
    if (!isKept || !hadReaders || isNeeded || findOp(node.domain, node.opType) === undefined) continue;
    if (facts.root.children.has(node) || specs?.some(({ outputs }) => outputs !== undefined) === true)
      continue;
    patch.nodes.set(node, []);
    for (const name of inputsOf(node, specs)) reads.set(name, (reads.get(name) ?? 0) - 1);
    for (const value of node.outputs) if (value?.declared !== undefined) patch.declared.set(value.name, null);
  }
  for (const value of graph.values.values()) {
    if (!isConstant(value, model) || value.isOutput || value.consumers.length === 0) continue;
    // Sparse initializers are kept apart in the file, where patches do not reach.
    if (!isSparse(value) && (reads.get(value.name) ?? 0) <= 0) patch.tensors.set(value.name, null);
  }
}

function countReads(graph: Graph, patch: GraphPatch): Map<string, number> {
  const reads = new Map<string, number>();
  const count = (name: string) => reads.set(name, (reads.get(name) ?? 0) + 1);
  for (const node of graph.nodes) for (const name of inputsOf(node, patch.nodes.get(node))) count(name);
  for (const { inputs = [] } of [...patch.first, ...patch.last]) for (const name of inputs) count(name);
  for (const value of graph.values.values())
    for (const reader of value.consumers) if (reader.graph !== graph) count(value.name);
  return reads;
}

function inputsOf(node: Node, specs: ReturnType<GraphPatch["nodes"]["get"]>): string[] {
  const own = node.inputs.flatMap((value) => value?.name ?? []);
  return (specs ?? [{}]).flatMap(({ inputs }) => inputs ?? own);
}
