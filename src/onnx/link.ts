/** @file Names to values: scopes, producers, consumers, and an order in which producers come first. */
import { invariant } from "../ir/errors.ts";
import { labelOf, operatorOf } from "../ir/model.ts";
import { WireError } from "../wire/error.ts";
import { type DraftGraph, type DraftNode, DraftValue, type NamedType, none } from "./draft.ts";

export interface LinkState {
  /** Path of the model, for messages. */
  readonly path: string;
  values: number;
  /** Graphs whose nodes were not in order. */
  unsorted: number;
}

/** Resolves every name of `graph` and its subgraphs. `outer` are the enclosing graphs, innermost first. */
export function linkGraph(graph: DraftGraph, outer: readonly DraftGraph[], state: LinkState): void {
  defineValues(graph, state);
  const scopes = [graph, ...outer];
  graph.outputs = graph.outputInfos.map((info) => {
    const value = resolve(info.name, scopes);
    if (value === undefined) {
      throw problem(
        state,
        "undefined-output",
        `graph "${graph.name}": output "${info.name}" is produced by nothing`,
      );
    }
    if (value.graph === graph) value.isOutput = true;
    value.declared ??= info.type;
    return value;
  });
  declareTypes(graph, graph.valueInfos);
  for (const node of graph.nodes) linkNode(node, scopes, state);
  if (!inOrder(graph)) {
    state.unsorted += 1;
    graph.nodes = sortNodes(graph, state);
  }
  graph.inputInfos = [];
  graph.outputInfos = [];
  graph.valueInfos = [];
  graph.initializers = [];
}

function problem(state: LinkState, code: string, what: string): WireError {
  return new WireError(code, `${state.path}: ${what}`);
}

function defineValues(graph: DraftGraph, state: LinkState): void {
  for (const { name, type } of graph.inputInfos) {
    const value = define(graph, name, state, "an input");
    value.declared = type;
    value.isInput = true;
    graph.inputs.push(value);
  }
  for (const tensor of graph.initializers) {
    if (tensor.name === "")
      throw problem(state, "no-name", `graph "${graph.name}": an initializer has no name`);
    const input = graph.values.get(tensor.name);
    // Naming an input makes the initializer its default; naming another initializer is a mistake.
    const value =
      input?.isInput && input.initializer === undefined
        ? input
        : define(graph, tensor.name, state, "an initializer");
    value.initializer = tensor;
  }
  for (const node of graph.nodes) {
    node.outputs = node.outputNames.map((name) => {
      if (name === "") return undefined;
      const value = define(graph, name, state, `an output of node "${node.name}" (${node.opType})`);
      value.producer = node;
      return value;
    });
    node.outputNames = none;
  }
}

function define(graph: DraftGraph, name: string, state: LinkState, what: string): DraftValue {
  if (graph.values.has(name)) {
    throw problem(
      state,
      "duplicate-name",
      `graph "${graph.name}": "${name}" is ${what}, but is defined already`,
    );
  }
  const value = new DraftValue(state.values, name, graph);
  state.values += 1;
  graph.values.set(name, value);
  return value;
}

function declareTypes(graph: DraftGraph, infos: readonly NamedType[]): void {
  for (const { name, type } of infos) {
    const value = graph.values.get(name);
    if (value !== undefined) value.declared ??= type;
  }
}

function resolve(name: string, scopes: readonly DraftGraph[]): DraftValue | undefined {
  for (const scope of scopes) {
    const value = scope.values.get(name);
    if (value !== undefined) return value;
  }
  return undefined;
}

function linkNode(node: DraftNode, scopes: readonly DraftGraph[], state: LinkState): void {
  node.inputs = node.inputNames.map((name) => {
    if (name === "") return undefined;
    const value = resolve(name, scopes);
    if (value === undefined) {
      const what = `node "${labelOf(node)}" (${node.opType}): input "${name}" is produced by nothing`;
      throw problem(state, "undefined-input", what);
    }
    value.addConsumer(node);
    return value;
  });
  node.inputNames = none;
  for (const graph of node.subgraphs) linkGraph(graph, scopes, state);
}

/** Everything a node must wait for in its own graph, subgraph captures included. */
function* dependencies(node: DraftNode, graph: DraftGraph): Iterable<DraftNode> {
  for (const value of node.inputs) {
    if (value?.graph === graph && value.producer !== undefined) yield value.producer;
  }
  for (const inner of node.subgraphs) {
    for (const output of inner.outputs) if (output.graph === graph && output.producer) yield output.producer;
    for (const nested of inner.nodes) yield* dependencies(nested, graph);
  }
}

/** Ids rise in file order within a graph. */
function inOrder(graph: DraftGraph): boolean {
  return graph.nodes.every((node) => {
    for (const value of node.inputs) {
      if (value?.graph === graph && value.producer !== undefined && value.producer.id >= node.id)
        return false;
    }
    if (node.subgraphs.length === 0) return true;
    for (const dependency of dependencies(node, graph)) if (dependency.id >= node.id) return false;
    return true;
  });
}

/** Kahn's algorithm, stable in file order. Throws `cycle`. */
function sortNodes(graph: DraftGraph, state: LinkState): DraftNode[] {
  const waiting = new Map<DraftNode, number>();
  const dependents = new Map<DraftNode, DraftNode[]>();
  for (const node of graph.nodes) {
    const needs = new Set(dependencies(node, graph));
    waiting.set(node, needs.size);
    for (const need of needs) {
      const list = dependents.get(need);
      if (list === undefined) dependents.set(need, [node]);
      else list.push(node);
    }
  }
  const sorted = graph.nodes.filter((node) => waiting.get(node) === 0);
  for (let index = 0; index < sorted.length; index++) {
    const node = sorted[index];
    for (const dependent of node === undefined ? [] : (dependents.get(node) ?? [])) {
      const left = (waiting.get(dependent) ?? 0) - 1;
      waiting.set(dependent, left);
      if (left === 0) sorted.push(dependent);
    }
  }
  if (sorted.length < graph.nodes.length) {
    const stuck = graph.nodes.find((node) => (waiting.get(node) ?? 0) > 0);
    invariant(stuck !== undefined, "a graph that is not sorted, of which no node waits");
    const what = `node "${labelOf(stuck)}" (${operatorOf(stuck)})`;
    throw problem(state, "cycle", `graph "${graph.name}": ${what} depends on its own output`);
  }
  return sorted;
}
