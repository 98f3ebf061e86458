/** @file A graph that many rules read: none may change it under another. */
import type { Graph, Model } from "../../ir/model.ts";

const frozen = new WeakSet<Model>();

/** Freezes nodes and values, once. Only where rules of others run: it walks the whole model. */
export function immutable(model: Model): void {
  if (frozen.has(model)) return;
  frozen.add(model);
  const graphs: Graph[] = [model.graph, ...[...model.functions.values()].map(({ graph }) => graph)];
  for (let graph = graphs.pop(); graph !== undefined; graph = graphs.pop()) {
    for (const value of graph.values.values()) {
      Object.freeze(value.consumers);
      Object.freeze(value);
    }
    for (const node of graph.nodes) {
      for (const { value } of node.attributes) {
        if (value.type === "graph") graphs.push(value.graph);
        else if (value.type === "graphs") for (const each of value.graphs) graphs.push(each);
      }
      for (const list of [node.inputs, node.outputs, node.attributes]) Object.freeze(list);
      Object.freeze(node);
    }
    for (const list of [graph.nodes, graph.inputs, graph.outputs]) Object.freeze(list);
  }
}
