/** @file Names for new values and nodes: free in every scope of the model, the same in every run. */
import type { Graph, Model } from "./model.ts";

export class FreshNames {
  readonly #model: Model;
  /** Collected for the first name: most passes make none. */
  #known: Set<string> | undefined;

  constructor(model: Model) {
    this.#model = model;
  }

  /** `base` with a suffix that makes it new. */
  make(base: string): string {
    const taken = this.#taken();
    for (let count = 0; ; count++) {
      const name = count === 0 ? base : `${base}_${count}`;
      if (taken.has(name)) continue;
      taken.add(name);
      return name;
    }
  }

  #taken(): Set<string> {
    if (this.#known !== undefined) return this.#known;
    const taken = new Set<string>();
    collect(this.#model.graph, taken);
    for (const { graph } of this.#model.functions.values()) collect(graph, taken);
    this.#known = taken;
    return taken;
  }
}

function collect(graph: Graph, taken: Set<string>): void {
  for (const name of graph.values.keys()) taken.add(name);
  for (const node of graph.nodes) {
    if (node.name !== "") taken.add(node.name);
    for (const { value } of node.attributes) {
      if (value.type === "graph") collect(value.graph, taken);
      else if (value.type === "graphs") for (const inner of value.graphs) collect(inner, taken);
    }
  }
}
