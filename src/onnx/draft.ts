/** @file The graph while it is being built: the shapes of `ir/model.ts`, still writable. */
import type { Attribute, Graph, Node, Span, TensorRef, Value, ValueType } from "../ir/model.ts";

/** One empty list for all that have none. */
export const none: readonly never[] = [];
const noNames: ReadonlySet<string> = new Set();

export class DraftValue implements Value {
  readonly id: number;
  readonly name: string;
  readonly graph: DraftGraph;
  producer: DraftNode | undefined = undefined;
  declared: ValueType | undefined = undefined;
  initializer: TensorRef | undefined = undefined;
  isInput = false;
  isOutput = false;
  /** Most values have one: a list for each would be a tenth of a large model. */
  #consumers: Node | Node[] | undefined = undefined;

  constructor(id: number, name: string, graph: DraftGraph) {
    this.id = id;
    this.name = name;
    this.graph = graph;
  }

  get consumers(): readonly Node[] {
    const consumers = this.#consumers;
    if (consumers === undefined) return none;
    return Array.isArray(consumers) ? consumers : [consumers];
  }

  addConsumer(node: Node): void {
    const before = this.#consumers;
    if (before === undefined) this.#consumers = node;
    else if (Array.isArray(before)) {
      if (before.at(-1) !== node) before.push(node);
    } else if (before !== node) this.#consumers = [before, node];
  }
}

export class DraftNode implements Node {
  readonly id: number;
  readonly graph: DraftGraph;
  readonly span: Span;
  name = "";
  domain = "";
  opType = "";
  overload = "";
  /** Names until `link` replaces them by values. */
  inputNames: readonly string[] = none;
  outputNames: readonly string[] = none;
  inputs: readonly (DraftValue | undefined)[] = none;
  outputs: readonly (DraftValue | undefined)[] = none;
  attributes: readonly Attribute[] = none;
  #subgraphs: DraftGraph[] | undefined = undefined;

  constructor(id: number, graph: DraftGraph, span: Span) {
    this.id = id;
    this.graph = graph;
    this.span = span;
  }

  /** The graphs among the attributes. */
  get subgraphs(): readonly DraftGraph[] {
    return this.#subgraphs ?? none;
  }

  addSubgraph(graph: DraftGraph): void {
    if (this.#subgraphs === undefined) this.#subgraphs = [graph];
    else this.#subgraphs.push(graph);
  }
}

export interface NamedType {
  readonly name: string;
  readonly type: ValueType | undefined;
}

export class DraftGraph implements Graph {
  name = "";
  readonly owner: DraftNode | undefined;
  nodes: DraftNode[] = [];
  inputs: DraftValue[] = [];
  outputs: DraftValue[] = [];
  readonly values = new Map<string, DraftValue>();
  /** As the file declares them; `link` turns them into values. */
  inputInfos: NamedType[] = [];
  outputInfos: NamedType[] = [];
  valueInfos: NamedType[] = [];
  initializers: TensorRef[] = [];

  readonly span: Span;
  #annotated: Set<string> | undefined = undefined;

  constructor(owner: DraftNode | undefined, span: Span) {
    this.owner = owner;
    this.span = span;
  }

  get annotated(): ReadonlySet<string> {
    return this.#annotated ?? noNames;
  }

  annotate(name: string): void {
    this.#annotated ??= new Set();
    this.#annotated.add(name);
  }
}
