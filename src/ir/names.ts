/** @file Names for new values: free in every scope of the model, the same in every run. */
import type { Graph, Model } from "./model.ts";

export class FreshNames {
  readonly #taken = new Set<string>();

  constructor(model: Model) {
    this.#collect(model.graph);
    for (const { graph } of model.functions.values()) this.#collect(graph);
  }

  /** `base` with a suffix that makes it new. */
  make(base: string): string {
    for (let count = 0; ; count++) {
      const name = count === 0 ? base : `${base}_${count}`;
      if (this.#taken.has(name)) continue;
      this.#taken.add(name);
      return name;
    }
  }

  #collect(graph: Graph): void {
    for (const name of graph.values.keys()) this.#taken.add(name);
    for (const node of graph.nodes) {
      for (const { value } of node.attributes) {
        if (value.type === "graph") this.#collect(value.graph);
        else if (value.type === "graphs") for (const inner of value.graphs) this.#collect(inner);
      }
    }
  }
}
