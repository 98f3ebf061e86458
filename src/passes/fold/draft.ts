/** @file The main graph while it is folded: what stands where by now. Names are the identity of values. */

import { NodeContext } from "../../facts/context.ts";
import { isConstant, type Scope } from "../../facts/scope.ts";
import { isSparse } from "../../facts/stored.ts";
import { attributeOf, tensorAttributeOf } from "../../ir/attributes.ts";
import { invariant } from "../../ir/errors.ts";
import {
  type AttributeValue,
  functionKey,
  type Graph,
  labelOf,
  type Model,
  type Node,
  type TensorRef,
  type Value,
} from "../../ir/model.ts";
import type { AttributeSpec, OpenTensor } from "../../ir/patch.ts";
import { isConstantNode } from "../../ops/ask.ts";
import type { TensorFact } from "../../ops/op.ts";
import { asTensor, numbersOf } from "../../ops/shape.ts";
import { LazyBytes } from "../lazy-bytes.ts";
import type { FreshNames } from "../names.ts";
import { capturesOf } from "./captures.ts";
import type { Made, Stored } from "./contents.ts";
import { Links } from "./links.ts";

export interface DraftOptions {
  readonly model: Model;
  /** Of the main graph, inferred with nothing bound. */
  readonly scope: Scope;
  readonly names: FreshNames;
  readonly open: OpenTensor;
  /** Why a node is to be left as it is, by its label. */
  readonly leftOut?: ((label: string) => string | undefined) | undefined;
}

/** What differs from a node as the file has it. */
export interface NodeEdit {
  opType?: string;
  inputs?: readonly string[];
  outputs?: readonly string[];
  readonly attributes: Map<string, AttributeSpec | null>;
}

export class Draft {
  readonly model: Model;
  readonly graph: Graph;
  readonly scope: Scope;
  readonly names: FreshNames;
  readonly made = new Map<string, Made>();
  readonly edits = new Map<Node, NodeEdit>();
  readonly removed = new Set<Node>();
  readonly #open: OpenTensor;
  readonly #leftOut: DraftOptions["leftOut"];
  readonly #links: Links;
  /** Nodes whose subgraphs read a value of the main graph, by its name. */
  readonly #captures = new Map<string, Set<Node>>();
  readonly #outputs: ReadonlySet<string>;

  constructor({ model, scope, names, open, leftOut }: DraftOptions) {
    this.#leftOut = leftOut;
    this.graph = model.graph;
    this.scope = scope;
    this.names = names;
    this.model = model;
    this.#open = open;
    this.#outputs = new Set(model.graph.outputs.map(({ name }) => name));
    this.#links = new Links(model.graph);
    for (const node of this.graph.nodes)
      for (const name of capturesOf(node)) addTo(this.#captures, name, node);
  }

  /** Nodes still there, in order. */
  get nodes(): Node[] {
    return this.graph.nodes.filter((node) => !this.removed.has(node));
  }

  inputsOf(node: Node): readonly string[] {
    return this.edits.get(node)?.inputs ?? namesOf(node.inputs);
  }

  outputsOf(node: Node): readonly string[] {
    return this.edits.get(node)?.outputs ?? namesOf(node.outputs);
  }

  /** Whether the node calls a local function. */
  isCall(node: Node): boolean {
    return this.model.functions.has(functionKey(node.domain, node.opType, node.overload));
  }

  /** Whether the node is what its operator name says in ai.onnx, and may be changed. */
  isStandard(node: Node): boolean {
    return node.domain === "" && !this.isCall(node) && !this.isLeftOut(node);
  }

  isLeftOut(node: Node): boolean {
    return this.#leftOut?.(labelOf(node)) !== undefined;
  }

  opTypeOf(node: Node): string {
    return this.edits.get(node)?.opType ?? node.opType;
  }

  attribute(node: Node, name: string): AttributeSpec | undefined {
    const edited = this.edits.get(node)?.attributes.get(name);
    if (edited !== undefined) return edited ?? undefined;
    const value = attributeOf(node, name);
    if (value === undefined) return undefined;
    return value.type === "int" || value.type === "float" || value.type === "ints" ? value : undefined;
  }

  attributesOf(node: Node): ReadonlyMap<string, AttributeValue | AttributeSpec> {
    const attributes = new Map<string, AttributeValue | AttributeSpec>(
      node.attributes.map(({ name, value }) => [name, value]),
    );
    for (const [name, value] of this.edits.get(node)?.attributes ?? []) {
      if (value === null) attributes.delete(name);
      else attributes.set(name, value);
    }
    return attributes;
  }

  int(node: Node, name: string): number | undefined {
    const value = this.attribute(node, name);
    return value?.type === "int" ? value.value : undefined;
  }

  float(node: Node, name: string): number | undefined {
    const value = this.attribute(node, name);
    return value?.type === "float" ? value.value : undefined;
  }

  ints(node: Node, name: string): readonly number[] | undefined {
    const value = this.attribute(node, name);
    return value?.type === "ints" ? value.values : undefined;
  }

  opsetOf(node: Node): number {
    return new NodeContext(node, this.scope, []).opset;
  }

  producerOf(name: string): Node | undefined {
    return this.#links.producerOf(name);
  }

  readersOf(name: string): ReadonlySet<Node> {
    return this.#links.readersOf(name);
  }

  isOutput(name: string): boolean {
    return this.#outputs.has(name);
  }

  /** Whether nothing but nodes of the main graph needs the value by its name. */
  isFree(name: string): boolean {
    return !this.isOutput(name) && !this.#captures.has(name) && !this.graph.annotated.has(name);
  }

  isNeeded(name: string): boolean {
    return this.#links.isRead(name) || !this.isFree(name);
  }

  /** The one node that reads a free value, as one of its inputs. */
  soleReaderOf(name: string): Node | undefined {
    const [reader, ...more] = this.readersOf(name);
    if (reader === undefined || more.length > 0 || !this.isFree(name)) return undefined;
    const inputs = this.inputsOf(reader);
    return inputs.indexOf(name) === inputs.lastIndexOf(name) ? reader : undefined;
  }

  factOf(name: string | undefined): TensorFact {
    const value = name === undefined ? undefined : this.graph.values.get(name);
    return asTensor(value && this.scope.fact(value));
  }

  /** Elements of a small constant. */
  numbersOf(name: string | undefined): readonly number[] | undefined {
    if (name === undefined || name === "") return undefined;
    const made = this.made.get(name);
    return made === undefined ? numbersOf(this.factOf(name).elements) : made.numbers;
  }

  /** Undefined for what a caller may override, is computed, or is no dense tensor. */
  storedOf(name: string | undefined): Stored | undefined {
    if (name === undefined) return undefined;
    const made = this.made.get(name);
    if (made !== undefined) {
      const { spec, numbers } = made;
      return { dtype: spec.dtype, dims: spec.dims, bytes: spec.bytes, numbers: () => numbers };
    }
    const value = this.graph.values.get(name);
    const tensor = value === undefined ? undefined : this.#tensorOf(value);
    if (tensor?.dtype === undefined || tensor.data.kind === "none" || tensor.data.kind === "sparse")
      return undefined;
    return {
      dtype: tensor.dtype,
      dims: tensor.dims,
      bytes: new LazyBytes(tensor.dtype, tensor.dims, () => this.#open(tensor)),
      numbers: (limit) => this.model.reader.elements(tensor, limit),
    };
  }

  isSparse(name: string): boolean {
    const value = this.graph.values.get(name);
    return value !== undefined && isSparse(value);
  }

  #tensorOf(value: Value): TensorRef | undefined {
    if (value.initializer !== undefined) {
      return isConstant(value, this.model) ? value.initializer : undefined;
    }
    const { producer } = value;
    if (producer === undefined || !isConstantNode(producer)) return undefined;
    return tensorAttributeOf(producer, "value");
  }

  /** `name` becomes (or stays) a constant, with these contents. Its producer must be gone, or be a Constant. */
  make(name: string, made: Made): void {
    const producer = this.producerOf(name);
    if (producer !== undefined) {
      invariant(isConstantNode(producer), `"${name}" is made a constant, but is computed`);
      this.remove(producer);
    }
    this.made.set(name, made);
  }

  /** A new constant. */
  add(base: string, made: Made): string {
    const name = this.names.make(base);
    this.made.set(name, made);
    return name;
  }

  setInput(node: Node, index: number, name: string): void {
    const inputs = [...this.inputsOf(node)];
    while (inputs.length < index) inputs.push("");
    inputs[index] = name;
    this.setInputs(node, inputs);
  }

  setInputs(node: Node, inputs: readonly string[]): void {
    const before = this.inputsOf(node);
    this.#edit(node).inputs = inputs;
    // Of thousands of inputs one changes at a time.
    for (const [index, name] of before.entries())
      if (name !== inputs[index] && !inputs.includes(name)) this.#links.dropReader(name, node);
    for (const [index, name] of inputs.entries())
      if (name !== before[index]) this.#links.addReader(name, node);
  }

  /** All nodes that read `name` read `other` from now on. */
  readInstead(name: string, other: string): void {
    for (const node of [...this.readersOf(name)]) {
      const inputs = this.inputsOf(node).map((input) => (input === name ? other : input));
      this.setInputs(node, inputs);
    }
  }

  /** The node writes an output under another name; whoever wrote that must be gone. */
  setOutput(node: Node, index: number, name: string): void {
    const outputs = [...this.outputsOf(node)];
    this.#links.setProducer(outputs[index] ?? "", undefined);
    outputs[index] = name;
    this.#edit(node).outputs = outputs;
    this.#links.setProducer(name, node);
  }

  setAttribute(node: Node, name: string, value: AttributeSpec | null): void {
    this.#edit(node).attributes.set(name, value);
  }

  /** The node becomes one of another operator, with no attribute of the old one. */
  setOperator(node: Node, opType: string): void {
    const edit = this.#edit(node);
    edit.opType = opType;
    for (const { name } of node.attributes) edit.attributes.set(name, null);
  }

  remove(node: Node): void {
    if (this.removed.has(node)) return;
    this.removed.add(node);
    for (const name of this.inputsOf(node)) this.#links.dropReader(name, node);
    for (const name of this.outputsOf(node)) this.#links.setProducer(name, undefined);
    for (const name of capturesOf(node)) {
      const left = this.#captures.get(name);
      left?.delete(node);
      if (left?.size === 0) this.#captures.delete(name);
    }
  }

  #edit(node: Node): NodeEdit {
    const known = this.edits.get(node);
    if (known !== undefined) return known;
    const edit: NodeEdit = { attributes: new Map() };
    this.edits.set(node, edit);
    return edit;
  }
}

function namesOf(values: readonly (Value | undefined)[]): readonly string[] {
  return values.map((value) => value?.name ?? "");
}

function addTo(map: Map<string, Set<Node>>, name: string, node: Node): void {
  const known = map.get(name);
  if (known === undefined) map.set(name, new Set([node]));
  else known.add(node);
}
