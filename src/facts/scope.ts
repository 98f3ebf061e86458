/** @file One instance of a graph, and what is known of its values there. */
import { ById } from "../ir/by-id.ts";
import { type Dim, mulDims, type Shape } from "../ir/dim.ts";
import { type Attribute, type Graph, labelOf, type Model, type Node, type Value } from "../ir/model.ts";
import type { Fact } from "../ops/op.ts";
import { unknownTensor } from "../ops/shape.ts";
import { constantFact } from "./constant.ts";

/** A node whose outputs inference could not tell. */
export interface Skipped {
  readonly node: Node;
  readonly scope: Scope;
  readonly kind: "unknown-operator" | "shape-error";
  readonly reason: string;
}

/** A value whose declared type is not what its operators make of it. */
export interface Contradiction {
  readonly value: Value;
  readonly scope: Scope;
  readonly inferred: Fact | undefined;
}

export interface ScopeOptions {
  readonly model: Model;
  readonly graph: Graph;
  readonly opsets: ReadonlyMap<string, number>;
  /** Undefined for the main graph. */
  readonly parent?: Scope | undefined;
  /** The node whose attribute holds the graph, or that calls the function. */
  readonly owner?: Node | undefined;
  /** Set for a function body: its name and the attributes of this call. */
  readonly call?: { readonly name: string; readonly attributes: ReadonlyMap<string, Attribute> } | undefined;
}

/** The main graph, a subgraph of a node, or a function body at one call site. */
export class Scope {
  readonly model: Model;
  readonly graph: Graph;
  readonly opsets: ReadonlyMap<string, number>;
  readonly parent: Scope | undefined;
  readonly owner: Node | undefined;
  /** What attribute references of the function body around resolve to. */
  readonly attributes: ReadonlyMap<string, Attribute> | undefined;
  /** Undefined unless this is a function body. */
  readonly functionName: string | undefined;
  /** 0 for the main graph. */
  readonly depth: number;
  /** How often the body runs for one run of the parent: a trip count, else 1. */
  repeat: Dim = 1;
  readonly skipped: Skipped[] = [];
  readonly contradictions: Contradiction[] = [];
  #children: Map<Node, readonly Scope[]> | undefined;
  /** The main graph has most values: an array by id. The others share the id space, so they hash. */
  readonly #facts: (Fact | undefined)[] | Map<number, Fact | undefined>;

  constructor({ model, graph, opsets, parent, owner, call }: ScopeOptions) {
    this.model = model;
    this.graph = graph;
    this.opsets = opsets;
    this.parent = parent;
    this.owner = owner;
    this.attributes = call?.attributes ?? parent?.attributes;
    this.functionName = call?.name;
    this.depth = parent === undefined ? 0 : parent.depth + 1;
    this.#facts = parent === undefined ? new Array<undefined>(model.valueCount) : new Map();
  }

  /** Whether this is the main graph, whichever inference it is of. */
  get isMain(): boolean {
    return this.parent === undefined;
  }

  /** For what is known of its nodes: the main graph has most of a model's, so that their ids are dense there. */
  byNode<V>(): ById<Node, V> {
    return new ById(this.isMain ? this.model.nodeCount : undefined);
  }

  /** The same of its values. */
  byValue<V>(): ById<Value, V> {
    return new ById(this.isMain ? this.model.valueCount : undefined);
  }

  /** Where this instance is, e.g. `graph`, `graph/loop_1:body`, `graph/call_3:MyFunction`. */
  get path(): string {
    if (this.parent === undefined || this.owner === undefined) return "graph";
    const label = this.functionName ?? attributeOf(this.owner, this.graph);
    return `${this.parent.path}/${labelOf(this.owner)}:${label}`;
  }

  /** How often the body runs for one run of the model. */
  get totalRepeat(): Dim {
    return this.parent === undefined ? this.repeat : mulDims(this.parent.totalRepeat, this.repeat);
  }

  /** Graphs instantiated by a node: subgraphs, or the body of the function that it calls. */
  get children(): ReadonlyMap<Node, readonly Scope[]> {
    return this.#children ?? noChildren;
  }

  /** The instance that defines `value`: this one or one around it. A function body sees nothing around it. */
  scopeOf(value: Value): Scope | undefined {
    let scope: Scope | undefined = this;
    while (scope !== undefined && scope.graph !== value.graph) {
      scope = scope.functionName === undefined ? scope.parent : undefined;
    }
    return scope;
  }

  /** What is known of a value defined here or around here; undefined for nothing at all. */
  fact(value: Value): Fact | undefined {
    const scope = this.scopeOf(value);
    return scope === undefined ? undefined : scope.#own(value);
  }

  /** Undefined where the rank is not known, and for what is no tensor. */
  shape(value: Value | undefined): Shape | undefined {
    const fact = value === undefined ? undefined : this.fact(value);
    return fact?.kind === "tensor" ? fact.shape : undefined;
  }

  /** Facts of a node's inputs; an omitted one is undefined, an unknown one an unknown tensor. */
  inputsOf(node: Node): (Fact | undefined)[] {
    return node.inputs.map((value) =>
      value === undefined ? undefined : (this.fact(value) ?? unknownTensor),
    );
  }

  outputsOf(node: Node): (Fact | undefined)[] {
    return node.outputs.map((value) => (value === undefined ? undefined : this.#own(value)));
  }

  /** @internal For the driver. */
  setFact(value: Value, fact: Fact | undefined): void {
    if (Array.isArray(this.#facts)) this.#facts[value.id] = fact;
    else this.#facts.set(value.id, fact);
  }

  /** @internal For the driver. */
  setChildren(node: Node, children: readonly Scope[]): void {
    this.#children ??= new Map();
    this.#children.set(node, children);
  }

  #own(value: Value): Fact | undefined {
    const fact = Array.isArray(this.#facts) ? this.#facts[value.id] : this.#facts.get(value.id);
    if (fact !== undefined || value.initializer === undefined) return fact;
    const stored = isConstant(value, this.model)
      ? constantFact(value.initializer, this.model.reader)
      : ({ kind: "tensor", dtype: value.initializer.dtype, shape: value.initializer.dims } as const);
    this.setFact(value, stored);
    return stored;
  }
}

const noChildren: ReadonlyMap<Node, readonly Scope[]> = new Map();

/** An initializer that no caller can override. Before IR 4 every initializer had to be an input as well. */
export function isConstant(value: Value, model: Model): boolean {
  return value.initializer !== undefined && (!value.isInput || model.irVersion < 4);
}

function attributeOf(owner: Node, graph: Graph): string {
  for (const { name, value } of owner.attributes) {
    if (value.type === "graph" && value.graph === graph) return name;
    if (value.type === "graphs" && value.graphs.includes(graph)) return name;
  }
  return graph.name;
}
