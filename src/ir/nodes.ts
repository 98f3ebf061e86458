/** @file All nodes of a model, wherever they are. */
import type { Graph, Model, Node } from "./model.ts";

/** Every node, subgraphs and functions included. */
export function* nodesOf(model: Model): Iterable<Node> {
  const graphs = [model.graph, ...[...model.functions.values()].map(({ graph }) => graph)];
  for (const { nodes } of graphs) {
    for (const node of nodes) {
      yield node;
      yield* nodesIn(node);
    }
  }
}

/** Every graph: the main one, functions' bodies and those inside of nodes. */
export function* graphsOf(model: Model): Iterable<Graph> {
  yield model.graph;
  for (const { graph } of model.functions.values()) yield graph;
  for (const node of nodesOf(model)) yield* subgraphs(node);
}

/** Every node in the subgraphs of a node, and in theirs. */
export function* nodesIn(node: Node): Iterable<Node> {
  for (const { nodes } of subgraphs(node)) {
    for (const inner of nodes) {
      yield inner;
      yield* nodesIn(inner);
    }
  }
}

function subgraphs(node: Node): readonly Graph[] {
  return node.attributes.flatMap(({ value }) => {
    if (value.type === "graph") return [value.graph];
    return value.type === "graphs" ? value.graphs : [];
  });
}
