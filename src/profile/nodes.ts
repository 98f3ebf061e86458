/** @file The nodes of a model by what a profile calls them. */
import { siteOf } from "../facts/nhwc-body.ts";
import { push } from "../ir/group.ts";
import { pushAll } from "../ir/lists.ts";
import { labelOf, type Node } from "../ir/model.ts";
import { originOf } from "../lint/source.ts";
import type { Step } from "../workload/timeline.ts";
import type { Workload } from "../workload/workload.ts";

/** A node in one instance of its graph. */
export interface Place {
  readonly node: Node;
  /** The kernel that computes it; undefined for what needs none. */
  readonly step: Step | undefined;
}

export class NodeNames {
  /** Of every instance of every graph, in graph order. */
  readonly places: readonly Place[];
  readonly #byName = new Map<string, Place[]>();
  readonly #byPlainName = new Map<string, Place[]>();
  readonly #byValue = new Map<string, Place[]>();
  readonly #orderOf = new Map<Place, number>();
  #byModule: Map<string, Place[]> | undefined;
  readonly #workload: Workload;

  constructor(workload: Workload) {
    const { facts, timeline } = workload;
    this.#workload = workload;
    const places: Place[] = [];
    for (const scope of facts.scopes()) {
      for (const node of scope.graph.nodes) {
        const place = { node, step: timeline.stepOf(node, scope) };
        const name = labelOf(siteOf(node, scope).node);
        this.#orderOf.set(place, places.length);
        places.push(place);
        push(this.#byName, name, place);
        push(this.#byPlainName, plainOf(name), place);
        for (const output of node.outputs) if (output !== undefined) push(this.#byValue, output.name, place);
      }
    }
    this.places = places;
  }

  /** A node of this name, else the one that makes a value of this name; a graph with several instances has several. */
  named(name: string): readonly Place[] {
    return this.#byName.get(name) ?? this.#byValue.get(name) ?? this.#byPlainName.get(plainOf(name)) ?? [];
  }

  /** Nodes of exactly this label. */
  labelled(label: string): readonly Place[] {
    return this.#byName.get(label) ?? [];
  }

  /** All from one node to another, in graph order. */
  between(from: string, to: string): readonly Place[] {
    const [first] = this.named(from);
    const [last] = this.named(to);
    const [start, end] = [first, last].map((place) => place && this.#orderOf.get(place));
    if (start === undefined || end === undefined || start > end)
      return [...this.named(from), ...this.named(to)];
    return this.places.slice(start, end + 1);
  }

  /** Nodes of a PyTorch module itself; where it has none, those of modules in it. */
  ofModule(path: string): readonly Place[] {
    return this.#modules().get(path) ?? this.named(path);
  }

  insideModule(path: string): readonly Place[] {
    const inside: Place[] = [];
    for (const [module, places] of this.#modules())
      if (module.startsWith(`${path}.`)) pushAll(inside, places);
    return inside;
  }

  #modules(): Map<string, Place[]> {
    if (this.#byModule !== undefined) return this.#byModule;
    const byModule = new Map<string, Place[]>();
    for (const place of this.places) {
      const { module } = originOf(place.node, this.#workload.model);
      if (module !== null) push(byModule, module, place);
    }
    this.#byModule = byModule;
    return byModule;
  }
}

/** TensorRT's second compiler writes what is no letter as `_`. */
function plainOf(name: string): string {
  return name.replaceAll(/[^\w/]/g, "_");
}
