/** @file One node as its operator sees it, made for every node: prototype methods, no closures. */
import type { Dim } from "../ir/dim.ts";
import type { Attribute, AttributeValue, Graph, Node } from "../ir/model.ts";
import type { Fact, TensorFact, WorkContext } from "../ops/op.ts";
import { constantFact } from "./constant.ts";
import type { Scope } from "./scope.ts";

/** What `inferGraph` and `inferIteration` need of the driver. */
export interface GraphInference {
  inferSubgraph(
    graph: Graph,
    inputs: readonly (Fact | undefined)[],
    owner: Node,
    scope: Scope,
  ): { readonly scope: Scope; readonly outputs: readonly (Fact | undefined)[] };
  /** Whether `iterations` of the graph may be looked at one by one. */
  mayUnroll(graph: Graph, iterations: number): boolean;
  /** What `work` infers counts as unrolled. */
  unrolling<Result>(work: () => Result): Result;
}

export class NodeContext implements WorkContext {
  // Declared only: a class field is defined before the constructor sets it, once more for every node.
  declare readonly node: Node;
  declare readonly scope: Scope;
  declare readonly opset: number;
  declare readonly outputs: readonly (Fact | undefined)[];
  /** Instances of the node's subgraphs, each as last inferred. */
  declare subgraphs: Map<Graph, Scope> | undefined;
  declare private readonly inference: GraphInference | undefined;
  declare private knownInputs: readonly (Fact | undefined)[] | undefined;

  constructor(
    node: Node,
    scope: Scope,
    outputs: readonly (Fact | undefined)[],
    inference?: GraphInference | undefined,
  ) {
    this.node = node;
    this.scope = scope;
    this.opset = opsetOf(node.domain, scope);
    this.outputs = outputs;
    this.subgraphs = undefined;
    this.inference = inference;
    this.knownInputs = undefined;
  }

  get inputs(): readonly (Fact | undefined)[] {
    this.knownInputs ??= this.scope.inputsOf(this.node);
    return this.knownInputs;
  }

  get outputCount(): number {
    return this.node.outputs.length;
  }

  int(name: string): number | undefined {
    const attribute = this.#find(name);
    return attribute?.type === "int" ? attribute.value : undefined;
  }

  float(name: string): number | undefined {
    const attribute = this.#find(name);
    return attribute?.type === "float" ? attribute.value : undefined;
  }

  string(name: string): string | undefined {
    const attribute = this.#find(name);
    return attribute?.type === "string" ? attribute.value : undefined;
  }

  ints(name: string): readonly number[] | undefined {
    const attribute = this.#find(name);
    return attribute?.type === "ints" ? attribute.values : undefined;
  }

  floats(name: string): readonly number[] | undefined {
    const attribute = this.#find(name);
    return attribute?.type === "floats" ? attribute.values : undefined;
  }

  strings(name: string): readonly string[] | undefined {
    const attribute = this.#find(name);
    return attribute?.type === "strings" ? attribute.values : undefined;
  }

  tensor(name: string): TensorFact | undefined {
    const attribute = this.#find(name);
    return attribute?.type === "tensor" ? constantFact(attribute.tensor, this.scope.model.reader) : undefined;
  }

  graph(name: string): Graph | undefined {
    const attribute = this.#find(name);
    return attribute?.type === "graph" ? attribute.graph : undefined;
  }

  has(name: string): boolean {
    return this.#find(name) !== undefined;
  }

  inferGraph(
    graph: Graph,
    inputs: readonly (Fact | undefined)[],
    repeat?: (outputs: readonly (Fact | undefined)[]) => Dim,
  ): readonly (Fact | undefined)[] {
    const { scope, outputs } = this.#driver().inferSubgraph(graph, inputs, this.node, this.scope);
    if (repeat !== undefined) scope.repeat = repeat(outputs);
    this.subgraphs ??= new Map();
    this.subgraphs.set(graph, scope);
    return outputs;
  }

  inferIteration(
    graph: Graph,
    inputs: readonly (Fact | undefined)[],
    ahead: number,
  ): readonly (Fact | undefined)[] | undefined {
    const driver = this.#driver();
    if (!driver.mayUnroll(graph, ahead)) return undefined;
    return driver.unrolling(() => driver.inferSubgraph(graph, inputs, this.node, this.scope).outputs);
  }

  #driver(): GraphInference {
    if (this.inference === undefined) throw new Error("tc-lint bug: subgraphs are inferred by `infer` alone");
    return this.inference;
  }

  #find(name: string): AttributeValue | undefined {
    const { attributes } = this.node;
    // By index: operators ask for several, of every node.
    for (let at = 0; at < attributes.length; at++) {
      const attribute = attributes[at];
      if (attribute?.name === name) return resolveAttribute(attribute, this.scope)?.value;
    }
    return undefined;
  }
}

/** The attribute itself, or what the call of the function around gives for its reference. */
export function resolveAttribute(attribute: Attribute, scope: Scope): Attribute | undefined {
  if (attribute.value.type !== "reference") return attribute;
  return scope.attributes?.get(attribute.value.to);
}

/** A domain the model forgot to import counts as version 1 (ai.onnx: as the main graph has it). */
export function opsetOf(domain: string, scope: Scope): number {
  return scope.opsets.get(domain) ?? scope.model.opsets.get(domain) ?? 1;
}
