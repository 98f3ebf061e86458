/** @file Where a pattern fits, as rules see it; and the search for it, by the operators that it can end in. */
import type { Scope } from "../../facts/scope.ts";
import { type Dim, evaluateDim } from "../../ir/dim.ts";
import { push } from "../../ir/group.ts";
import { type Graph, type Node, operatorOf, type Value } from "../../ir/model.ts";
import type { Bindings } from "./bindings.ts";
import { GraphFacts } from "./graph-facts.ts";
import { Matcher } from "./matcher.ts";
import { type Pattern, rootTypes } from "./pattern.ts";

/** A place where a pattern fits. Names that it leaves out, as optional parts are, throw: `has` says whether they are there. */
export class Match<Nodes extends string = string, Values extends string = string> {
  /** The node that the pattern ends in. */
  readonly root: Node;
  readonly scope: Scope;
  readonly facts: GraphFacts;
  readonly #found: Bindings;
  readonly #sizes: ReadonlyMap<string, number>;

  constructor(root: Node, facts: GraphFacts, found: Bindings, sizes: ReadonlyMap<string, number>) {
    this.root = root;
    this.scope = facts.scope;
    this.facts = facts;
    this.#found = found;
    this.#sizes = sizes;
  }

  /** All nodes of the pattern, each once, in graph order. */
  get nodes(): readonly Node[] {
    return this.#found.nodes();
  }

  has(name: Nodes | Values): boolean {
    const found = this.#found;
    return [found.node(name), found.value(name), found.values(name)].some((each) => each !== undefined);
  }

  node(name: Nodes): Node {
    return there(this.#found.node(name), name);
  }

  value(name: Values): Value {
    return there(this.#found.value(name), name);
  }

  /** Operands of `variadic`. */
  values(name: Values): readonly Value[] {
    return there(this.#found.values(name), name);
  }

  /** A dimension that the pattern names: a number, or an expression over symbols. */
  dim(name: string): Dim {
    return there(this.#found.dim(name), name);
  }

  /** The same in numbers, symbols at the sizes that the model is priced at; undefined where it stays unknown. */
  size(name: string): number | undefined {
    return evaluateDim(this.dim(name), this.#sizes);
  }
}

function there<T>(found: T | undefined, name: string): T {
  if (found === undefined) throw new Error(`the match has no "${name}"`);
  return found;
}

/** Nodes of a graph by operator, in graph order: made once, for all patterns. */
const indices = new WeakMap<Graph, ReadonlyMap<string, readonly Node[]>>();

function indexOf(graph: Graph): ReadonlyMap<string, readonly Node[]> {
  const known = indices.get(graph);
  if (known !== undefined) return known;
  const index = new Map<string, Node[]>();
  for (const node of graph.nodes) push(index, operatorOf(node), node);
  indices.set(graph, index);
  return index;
}

/** Nodes that a pattern may end in. */
export function candidatesOf(pattern: Pattern, graph: Graph): readonly Node[] {
  const types = rootTypes(pattern);
  if (types === undefined) return graph.nodes;
  const index = indexOf(graph);
  const found = [...types].map((type) => index.get(type) ?? []);
  return found.length === 1 ? (found[0] ?? []) : found.flat().sort((a, b) => a.id - b.id);
}

/** Every place in one instance of a graph, one for each node that the pattern ends in. */
export function* matchesIn(
  pattern: Pattern,
  scope: Scope,
  sizes: ReadonlyMap<string, number>,
  doing: <T>(node: Node, work: () => T) => T = (_node, work) => work(),
): Generator<Match> {
  const candidates = candidatesOf(pattern, scope.graph);
  if (candidates.length === 0) return;
  const facts = new GraphFacts(scope, sizes);
  const matcher = new Matcher(facts);
  for (const root of candidates) {
    const found = doing(root, () => matcher.match(pattern, root));
    if (found !== undefined) yield new Match(root, facts, found, sizes);
  }
}
