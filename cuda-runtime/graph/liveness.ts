/** @file Which nodes of an instance of a graph have to be computed, and who reads what. */
import type { Scope } from "../../src/facts/scope.ts";
import type { Graph, Node, Value } from "../../src/ir/model.ts";
import { knownElementsOf } from "./known.ts";

/** What a graph's outputs (`wanted` of them, where not all are) need of it, values known while planning left out. */
export class LiveNodes {
  readonly #scope: Scope;
  readonly #wanted: ReadonlySet<Value>;
  readonly #computed: ReadonlySet<Value>;
  readonly #live = new Set<Value>();
  readonly #nodes = new Set<Node>();
  readonly #readers = new Map<Value, Node[]>();
  #depths: ReadonlyMap<Node, number> | undefined;

  /** `computed`: values that are in memory already, with all that makes them. */
  constructor(
    scope: Scope,
    wanted: readonly Value[] = scope.graph.outputs,
    computed: ReadonlySet<Value> = new Set(),
  ) {
    this.#scope = scope;
    this.#wanted = new Set(wanted);
    this.#computed = computed;
    for (const output of wanted) this.#live.add(output);
    for (const node of [...scope.graph.nodes].reverse()) this.#visit(node);
    for (const readers of this.#readers.values()) readers.reverse();
  }

  has(node: Node): boolean {
    return this.#nodes.has(node);
  }

  /** Live nodes of this graph that read the value, in order; those whose subgraphs read it included. */
  readersOf(value: Value): readonly Node[] {
    return this.#readers.get(value) ?? [];
  }

  isLive(value: Value): boolean {
    return this.#live.has(value);
  }

  /** Whether somebody outside of the graph reads the value. */
  isSeen(value: Value): boolean {
    return value.isOutput || this.#wanted.has(value);
  }

  /** Whether the value is in memory before the graph runs. */
  isComputed(value: Value): boolean {
    return this.#computed.has(value);
  }

  /** Live nodes of this graph on the longest way to the node, itself included; 0 for one that is not live. */
  depthOf(node: Node): number {
    this.#depths ??= depthsIn(this.#scope.graph.nodes.filter((each) => this.has(each)));
    return this.#depths.get(node) ?? 0;
  }

  #visit(node: Node): void {
    const isNeeded = node.outputs.some(
      (output) =>
        output !== undefined &&
        this.#live.has(output) &&
        !this.#computed.has(output) &&
        !this.#isKnown(output),
    );
    if (!isNeeded) return;
    this.#nodes.add(node);
    const read = new Set([...node.inputs, ...capturesOf(node)]);
    for (const value of read) {
      if (value === undefined || this.#isKnown(value)) continue;
      this.#live.add(value);
      const readers = this.#readers.get(value);
      if (readers === undefined) this.#readers.set(value, [node]);
      else readers.push(node);
    }
  }

  #isKnown(value: Value): boolean {
    return value.initializer === undefined && knownElementsOf(value, this.#scope) !== undefined;
  }
}

/** In the order in which they are computed. */
function depthsIn(nodes: readonly Node[]): Map<Node, number> {
  const depths = new Map<Node, number>();
  for (const node of nodes) {
    const before = node.inputs.map((value) => (value?.producer && depths.get(value.producer)) ?? 0);
    depths.set(node, 1 + before.reduce((most, depth) => Math.max(most, depth), 0));
  }
  return depths;
}

/** Values of graphs around that the node's subgraphs read. */
function capturesOf(node: Node): Set<Value> {
  const found = new Set<Value>();
  for (const { value } of node.attributes) {
    if (value.type === "graph") collect(value.graph, node.graph, found);
    else if (value.type === "graphs") for (const graph of value.graphs) collect(graph, node.graph, found);
  }
  return found;
}

function collect(graph: Graph, around: Graph, into: Set<Value>): void {
  for (const output of graph.outputs) if (output.graph === around) into.add(output);
  for (const node of graph.nodes) {
    for (const input of node.inputs) if (input !== undefined && input.graph === around) into.add(input);
    for (const { value } of node.attributes) {
      if (value.type === "graph") collect(value.graph, around, into);
      else if (value.type === "graphs") for (const inner of value.graphs) collect(inner, around, into);
    }
  }
}
