/** @file Who makes and who reads a value by now: as the graph has it, but for what has changed since. */
import type { Graph, Node } from "../../ir/model.ts";

/** Of the nodes of one graph itself: what their subgraphs read is told by `capturesOf`. */
export class Links {
  readonly #graph: Graph;
  /** Of names that changed hands; undefined where nobody makes it any more. */
  readonly #producers = new Map<string, Node | undefined>();
  /** Of names that were asked for or changed: most of a large graph's never are. */
  readonly #readers = new Map<string, Set<Node>>();

  constructor(graph: Graph) {
    this.#graph = graph;
  }

  producerOf(name: string): Node | undefined {
    if (this.#producers.has(name)) return this.#producers.get(name);
    return this.#graph.values.get(name)?.producer;
  }

  setProducer(name: string, node: Node | undefined): void {
    this.#producers.set(name, node);
  }

  /** In graph order, each once. */
  readersOf(name: string): ReadonlySet<Node> {
    const isKnown = this.#readers.has(name) || this.#graph.values.has(name);
    return isKnown ? this.#changing(name) : nobody;
  }

  isRead(name: string): boolean {
    const known = this.#readers.get(name);
    if (known !== undefined) return known.size > 0;
    const consumers = this.#graph.values.get(name)?.consumers ?? [];
    return consumers.some(({ graph }) => graph === this.#graph);
  }

  addReader(name: string, node: Node): void {
    if (name !== "") this.#changing(name).add(node);
  }

  dropReader(name: string, node: Node): void {
    if (name !== "") this.#changing(name).delete(node);
  }

  #changing(name: string): Set<Node> {
    const known = this.#readers.get(name);
    if (known !== undefined) return known;
    const consumers = this.#graph.values.get(name)?.consumers ?? [];
    const readers = new Set(consumers.filter(({ graph }) => graph === this.#graph));
    this.#readers.set(name, readers);
    return readers;
  }
}

const nobody: ReadonlySet<Node> = new Set();
