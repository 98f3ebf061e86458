/** @file The FP32 part of a model: its nodes by how their operands take part, its values with their readers. */
import type { Facts } from "../../facts/infer.ts";
import type { Scope } from "../../facts/scope.ts";
import { isStored, storedTensor } from "../../facts/stored.ts";
import type { Graph, Node, Value } from "../../ir/model.ts";
import { isConstantNode, isOp } from "../../ops/ask.ts";
import { emitted } from "../../ops/emitted.ts";
import type { HalfType, Slot } from "./accepts.ts";
import { holdsProduct, operandSlots } from "./generic-calls.ts";
import { dtypeIn, subgraphsOf } from "./slots.ts";

/** A node with at least one FP32 operand. */
export interface FloatNode {
  readonly node: Node;
  readonly scope: Scope;
  /** By position. */
  readonly inputs: readonly Slot[];
  readonly outputs: readonly Slot[];
  /** What Tensor Cores are for, itself or in the function that it calls. */
  readonly isProduct: boolean;
}

export interface Use {
  readonly user: FloatNode;
  readonly slot: Slot;
}

/** An FP32 tensor. */
export interface FloatValue {
  readonly value: Value;
  /** The instance of the graph that defines it. */
  readonly scope: Scope;
  readonly producer: Use | undefined;
  readonly readers: Use[];
  /** Its elements are in the file, as an initializer or in a Constant node. */
  readonly isStored: boolean;
  /** What a Cast has made it from, where that is of the half type already. */
  readonly halfSource: Value | undefined;
}

export interface FloatGraph {
  /** Of the main graph and the subgraphs in it; function bodies keep their types. */
  readonly scopes: readonly Scope[];
  readonly nodes: readonly FloatNode[];
  readonly byNode: ReadonlyMap<Node, FloatNode>;
  readonly values: ReadonlyMap<Value, FloatValue>;
  /** Values that FP32 goes by under their own name: what control nodes and bodies that were not inferred refer to. */
  readonly pinned: ReadonlySet<Value>;
}

export function buildFloatGraph(facts: Facts, type: HalfType): FloatGraph {
  return new Builder(facts, type).build();
}

class Builder {
  readonly #root: Scope;
  readonly #type: HalfType;
  readonly #scopes: Scope[] = [];
  readonly #nodes: FloatNode[] = [];
  readonly #byNode = new Map<Node, FloatNode>();
  readonly #values = new Map<Value, FloatValue>();
  readonly #pinned = new Set<Value>();

  constructor(facts: Facts, type: HalfType) {
    this.#root = facts.root;
    this.#type = type;
  }

  build(): FloatGraph {
    this.#enter(this.#root);
    for (const scope of this.#scopes) {
      for (const node of scope.graph.nodes) if (!isConstantNode(node)) this.#addNode(node, scope);
    }
    for (const scope of this.#scopes) this.#addValues(scope);
    for (const user of this.#nodes) this.#addReaders(user);
    return {
      scopes: this.#scopes,
      nodes: this.#nodes,
      byNode: this.#byNode,
      values: this.#values,
      pinned: this.#pinned,
    };
  }

  #enter(scope: Scope): void {
    this.#scopes.push(scope);
    // A body may give back a value from around it, by its name.
    for (const value of scope.graph.outputs) if (value.graph !== scope.graph) this.#pinned.add(value);
    for (const node of scope.graph.nodes) {
      const inferred = scope.children.get(node) ?? [];
      for (const child of inferred) if (child.functionName === undefined) this.#enter(child);
      const graphs = subgraphsOf(node);
      if (graphs.length === 0) continue;
      for (const input of node.inputs) if (input !== undefined) this.#pinned.add(input);
      for (const graph of graphs) {
        if (!inferred.some((child) => child.graph === graph)) this.#pinCaptures(graph);
      }
    }
  }

  /** What a body that inference did not enter takes from around it stays as it is. */
  #pinCaptures(graph: Graph): void {
    const taken = [...graph.outputs, ...graph.nodes.flatMap(({ inputs }) => inputs)];
    for (const value of taken) if (value !== undefined && value.graph !== graph) this.#pinned.add(value);
    for (const node of graph.nodes) for (const inner of subgraphsOf(node)) this.#pinCaptures(inner);
  }

  #addNode(node: Node, scope: Scope): void {
    const slots = operandSlots(node, scope, this.#type);
    if ([...slots.inputs, ...slots.outputs].every((slot) => slot === "other")) return;
    const entry = { node, scope, ...slots, isProduct: holdsProduct(node, scope) };
    this.#nodes.push(entry);
    this.#byNode.set(node, entry);
  }

  #addValues(scope: Scope): void {
    for (const value of scope.graph.values.values()) {
      if (value.graph !== scope.graph || dtypeIn(value, scope) !== "float32") continue;
      const user = value.producer && this.#byNode.get(value.producer);
      const position = value.producer?.outputs.indexOf(value) ?? -1;
      const producer = user && { user, slot: user.outputs[position] ?? "float" };
      const stored = isStored(value, scope) && hasElements(value);
      const halfSource = halfSourceOf(value, scope, this.#type);
      this.#values.set(value, { value, scope, producer, readers: [], isStored: stored, halfSource });
    }
  }

  #addReaders(user: FloatNode): void {
    for (const [position, input] of user.node.inputs.entries()) {
      const slot = user.inputs[position];
      if (input === undefined || slot === undefined || slot === "other") continue;
      this.#values.get(input)?.readers.push({ user, slot });
    }
  }
}

function halfSourceOf({ producer }: Value, scope: Scope, type: HalfType): Value | undefined {
  if (!isOp(producer, emitted.Cast)) return undefined;
  const [source] = producer?.inputs ?? [];
  return dtypeIn(source, scope) === type ? source : undefined;
}

/** Not so for sparse tensors and for tensors in segments. */
function hasElements(value: Value): boolean {
  const tensor = storedTensor(value);
  if (tensor === undefined) {
    const names = value.producer?.attributes.map(({ name }) => name) ?? [];
    return names.includes("value_float") || names.includes("value_floats");
  }
  return tensor.data.kind !== "none" || tensor.dims.includes(0);
}
