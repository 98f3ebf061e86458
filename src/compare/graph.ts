/** @file What changed in the graph: operators by kind, nodes, stored tensors, and the model's inputs and outputs. */
import { diffModels, type TensorChange } from "../fix/diff.ts";
import { dimText } from "../ir/message.ts";
import {
  type Graph,
  labelOf,
  type Model,
  type Node,
  operatorOf,
  type Value,
  type ValueType,
} from "../ir/model.ts";
import { isTranspose, traitsOf } from "../ops/ask.ts";
import type { NewNames } from "../workload/paired-steps.ts";
import { newValues } from "./new-values.ts";
import type { GraphChange, OperatorCount } from "./result.ts";

/** `names`: of nodes of base's main graph, those in head, where these are others. */
export function compareGraphs(base: Model, head: Model, names: NewNames): GraphChange {
  const renames = { nodes: names, values: newValues(base, head, names) };
  const { nodes, tensors } = diffModels(base, head, renames);
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
  for (const node of nodesOf(model)) {
    const op = operatorOf(node);
    const kind = counts.get(op);
    if (kind === undefined) counts.set(op, { nodes: 1, overhead: isOverhead(node) });
    else kind.nodes += 1;
  }
  return counts;
}

/** Of all graphs, as findings name nodes. */
export function nodeNames(model: Model): ReadonlySet<string> {
  return new Set([...nodesOf(model)].map(labelOf));
}

function* nodesOf(model: Model): Iterable<Node> {
  yield* nodesIn(model.graph);
  for (const { graph } of model.functions.values()) yield* nodesIn(graph);
}

/** Subgraphs nest as deep as a file says, which the reader bounds. */
function* nodesIn(graph: Graph): Iterable<Node> {
  for (const node of graph.nodes) {
    yield node;
    for (const { value } of node.attributes) {
      if (value.type === "graph") yield* nodesIn(value.graph);
      else if (value.type === "graphs") for (const inner of value.graphs) yield* nodesIn(inner);
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
