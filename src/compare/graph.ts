/** @file What changed in the graph: operators by kind, nodes, stored tensors, and the model's inputs and outputs. */
import { diffModels, type TensorChange } from "../fix/diff.ts";
import { dimText } from "../ir/message.ts";
import { type Graph, type Model, type Node, operatorOf, type Value, type ValueType } from "../ir/model.ts";
import { isTranspose, traitsOf } from "../ops/ask.ts";
import type { GraphChange, OperatorCount } from "./result.ts";

export function compareGraphs(base: Model, head: Model): GraphChange {
  const { nodes, tensors } = diffModels(base, head);
  return {
    operators: countOperators(base, head),
    nodes,
    tensors,
    interface: [
      ...typeChanges(base.graph.inputs.filter(isFed), head.graph.inputs.filter(isFed)),
      ...typeChanges(base.graph.outputs, head.graph.outputs),
    ],
  };
}

function countOperators(base: Model, head: Model): OperatorCount[] {
  const [before, after] = [operatorsOf(base), operatorsOf(head)];
  return [...new Set([...before.keys(), ...after.keys()])].sort().map((op) => {
    const [old, now] = [before.get(op), after.get(op)];
    const overhead = (now ?? old)?.overhead ?? false;
    return { op, base: old?.nodes ?? 0, head: now?.nodes ?? 0, overhead };
  });
}

interface Kind {
  readonly overhead: boolean;
  nodes: number;
}

function operatorsOf(model: Model): Map<string, Kind> {
  const counts = new Map<string, Kind>();
  count(model.graph, counts);
  for (const { graph } of model.functions.values()) count(graph, counts);
  return counts;
}

/** Subgraphs nest as deep as a file says, which the reader bounds. */
function count(graph: Graph, into: Map<string, Kind>): void {
  for (const node of graph.nodes) {
    const op = operatorOf(node);
    const kind = into.get(op);
    if (kind === undefined) into.set(op, { nodes: 1, overhead: isOverhead(node) });
    else kind.nodes += 1;
    for (const { value } of node.attributes) {
      if (value.type === "graph") count(value.graph, into);
      else if (value.type === "graphs") for (const inner of value.graphs) count(inner, into);
    }
  }
}

function isOverhead(node: Node): boolean {
  return traitsOf(node)?.elements === "converted" || isTranspose(node);
}

/** An initializer that is an input too is a default. */
function isFed({ initializer }: Value): boolean {
  return initializer === undefined;
}

function typeChanges(before: readonly Value[], after: readonly Value[]): TensorChange[] {
  const [old, now] = [typesOf(before), typesOf(after)];
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((name) => {
    const change = { name, before: old.get(name) ?? null, after: now.get(name) ?? null };
    return change.before === change.after ? [] : [change];
  });
}

function typesOf(values: readonly Value[]): Map<string, string> {
  return new Map(values.map(({ name, declared }) => [name, typeText(declared)]));
}

/** `float32[batch,3,224,224]`. */
function typeText(type: ValueType | undefined): string {
  if (type === undefined) return "of no declared type";
  if (type.kind === "sequence" || type.kind === "optional") return `${type.kind}(${typeText(type.element)})`;
  if (type.kind !== "tensor") return type.kind;
  const dims = type.shape === undefined ? "…" : type.shape.map(dimText).join(",");
  return `${type.dtype ?? "unknown type"}[${dims}]`;
}
