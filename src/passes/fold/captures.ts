/** @file What the subgraphs of a node read of the graph around them: by name, in bytes that the pass leaves alone. */
import type { Graph, Node } from "../../ir/model.ts";

/** Names of values of the node's own graph that its subgraphs read or give out. */
export function capturesOf(node: Node): ReadonlySet<string> {
  const { attributes } = node;
  let captures: Set<string> | undefined;
  // By index: asked of every node, of which few have a subgraph.
  for (let at = 0; at < attributes.length; at++) {
    const value = attributes[at]?.value;
    if (value === undefined) continue;
    if (value.type !== "graph" && value.type !== "graphs") continue;
    captures ??= new Set();
    for (const graph of value.type === "graph" ? [value.graph] : value.graphs)
      collect(graph, node.graph, captures);
  }
  return captures ?? nothing;
}

const nothing: ReadonlySet<string> = new Set();

function collect(inner: Graph, outer: Graph, into: Set<string>): void {
  for (const value of inner.outputs) if (value.graph === outer) into.add(value.name);
  for (const node of inner.nodes) {
    for (const value of node.inputs) if (value?.graph === outer) into.add(value.name);
    for (const { value } of node.attributes) {
      if (value.type === "graph") collect(value.graph, outer, into);
      else if (value.type === "graphs") for (const graph of value.graphs) collect(graph, outer, into);
    }
  }
}
