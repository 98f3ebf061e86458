/** @file How large a model becomes with every function call replaced by the function's body: checked before it is. */
import { InputError } from "../ir/errors.ts";
import {
  type FunctionDefinition,
  functionKey,
  type Graph,
  type Model,
  type Node,
  operatorOf,
} from "../ir/model.ts";

/** Said of no node: whoever knows the model names it. */
export class ExpansionError extends InputError {}

/** ONNX's own checker stops at this many nested calls. */
const maxCallDepth = 100;
/** Nodes of subgraphs and function bodies, every instance counted. The largest real exports have a tenth of that. */
const maxInstantiatedNodes = 1_000_000;
/** Of a small model; a kilobyte of functions that call each other is no reason for a million. */
const alwaysInstantiated = 50_000;
const maxInstantiatedPerNode = 50;
/** Nodes of loop bodies that are looked at, or planned, one iteration after the other. */
export const maxUnrolledNodes = 50_000;

/** Nodes of function bodies in a plan of a small model. */
export const alwaysPlanned = 10_000;
/** And for each node of the file where that is more. */
export const maxPlannedPerNode = 10;

/** Subgraphs and calls together; each level is a few stack frames. */
export const maxScopeDepth = 250;

interface Size {
  readonly nodes: number;
  /** Calls within calls. */
  readonly depth: number;
}

/** Throws InputError for functions that recurse, nest or multiply beyond what can be looked at. */
export function checkExpansion(model: Model): void {
  if (model.functions.size === 0) return;
  const limit = instantiationLimit(model);
  if (expandedNodes(model) > limit) throw tooLarge(limit);
}

/** How many nodes of subgraphs and function bodies are looked at, by what is written in the file. */
export function instantiationLimit(model: Model): number {
  const justified = Math.max(alwaysInstantiated, maxInstantiatedPerNode * writtenNodes(model));
  return Math.min(maxInstantiatedNodes, justified);
}

/**
 * Nodes that calls add to a model once each is replaced by the function's body, counted without doing it. Throws InputError
 * for functions that recurse or nest too deep.
 */
export function expandedNodes(model: Model): number {
  if (model.functions.size === 0) return 0;
  const { nodes } = new Expansion(model.functions).graph(model.graph, [], 0);
  return nodes - model.graph.nodes.length;
}

/** Nodes that are written in the file, of all its graphs. */
export function writtenNodes({ graph, functions }: Model): number {
  let nodes = 0;
  const pending = [graph, ...Array.from(functions.values(), (definition) => definition.graph)];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    nodes += next.nodes.length;
    for (const node of next.nodes) for (const inner of graphsOf(node)) pending.push(inner);
  }
  return nodes;
}

function* graphsOf({ attributes }: Node): Generator<Graph> {
  for (const { value } of attributes) {
    if (value.type === "graph") yield value.graph;
    if (value.type === "graphs") yield* value.graphs;
  }
}

export function tooDeep(): ExpansionError {
  return new ExpansionError(
    "graph-nesting-too-deep",
    `graphs and functions nest beyond ${maxScopeDepth} levels`,
  );
}

export function tooLarge(limit: number): ExpansionError {
  return new ExpansionError(
    "function-expansion-too-large",
    `functions and loops expand to more than ${limit.toLocaleString("en-US")} nodes, which a model of its size is given`,
  );
}

class Expansion {
  readonly #functions: ReadonlyMap<string, FunctionDefinition>;
  readonly #sizes = new Map<FunctionDefinition, Size>();

  constructor(functions: ReadonlyMap<string, FunctionDefinition>) {
    this.#functions = functions;
  }

  graph(graph: Graph, calls: readonly FunctionDefinition[], level: number): Size {
    if (level > maxScopeDepth) throw tooDeep();
    let nodes = graph.nodes.length;
    let depth = 0;
    for (const node of graph.nodes) {
      for (const part of this.#partsOf(node, calls, level + 1)) {
        nodes += part.nodes;
        depth = Math.max(depth, part.depth);
      }
    }
    return { nodes, depth };
  }

  *#partsOf(node: Node, calls: readonly FunctionDefinition[], level: number): Generator<Size> {
    const definition = this.#functions.get(functionKey(node.domain, node.opType, node.overload));
    if (definition !== undefined) yield this.#call(definition, node, calls, level);
    for (const graph of graphsOf(node)) yield this.graph(graph, calls, level);
  }

  #call(
    definition: FunctionDefinition,
    node: Node,
    calls: readonly FunctionDefinition[],
    level: number,
  ): Size {
    if (calls.includes(definition)) {
      throw new ExpansionError("recursive-function", `function ${operatorOf(node)} calls itself`);
    }
    const known = this.#sizes.get(definition);
    if (calls.length + 1 + (known?.depth ?? 0) > maxCallDepth) {
      throw new ExpansionError(
        "function-nesting-too-deep",
        `functions call each other beyond ${maxCallDepth} levels`,
      );
    }
    if (known !== undefined) return { nodes: known.nodes, depth: known.depth + 1 };
    const size = this.graph(definition.graph, [...calls, definition], level);
    this.#sizes.set(definition, size);
    return { nodes: size.nodes, depth: size.depth + 1 };
  }
}
