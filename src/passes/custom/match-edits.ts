/** @file What the fix of a rule makes of one match, gathered and checked before it becomes a part of a patch. */
import type { Edits, NewAttribute, NewNode, NewTensor } from "../../ir/edits.ts";
import { describeNode, labelOf, type Node, type Value } from "../../ir/model.ts";
import type { FreshNames } from "../../ir/names.ts";
import type { AttributeSpec, GraphPatch, NodeSpec, TensorSpec } from "../../ir/patch.ts";
import { canEncode, encodeNumbers, MemoryBytes } from "../tensors.ts";

export class MatchEdits implements Edits {
  readonly #matched: ReadonlySet<Node>;
  readonly #names: FreshNames;
  readonly #replaced = new Map<Node, readonly NodeSpec[]>();
  readonly #added = new Map<string, TensorSpec>();
  readonly #domains = new Set<string>();

  constructor(matched: readonly Node[], names: FreshNames) {
    this.#matched = new Set(matched);
    this.#names = names;
  }

  replace(node: Node, ...by: readonly NewNode[]): void {
    if (!this.#matched.has(node)) throw new Error(`replace: ${describeNode(node)} is no node of the match`);
    if (this.#replaced.has(node)) throw new Error(`replace: ${describeNode(node)} is replaced already`);
    if (by.length === 0) throw new Error(`replace: nothing stands in the place of ${describeNode(node)}`);
    const specs = by.map((spec, index) => this.#specOf(spec, node, index === by.length - 1));
    this.#replaced.set(node, specs);
  }

  constant(name: string, { dtype, dims, values }: NewTensor): string {
    if (!canEncode(dtype)) throw new Error(`constant "${name}": numbers cannot be written as ${dtype}`);
    const size = dims.reduce((product, dim) => product * dim, 1);
    if (values.length !== size)
      throw new Error(`constant "${name}": found ${values.length} values, expected ${size}`);
    const fresh = this.#names.make(name);
    this.#added.set(fresh, { dtype, dims, bytes: new MemoryBytes(encodeNumbers(dtype, values)) });
    return fresh;
  }

  value(name: string): string {
    return this.#names.make(name);
  }

  /** Nothing was said to change. */
  get isEmpty(): boolean {
    return this.#replaced.size === 0;
  }

  /** Domains of new nodes, beside ai.onnx. */
  get domains(): ReadonlySet<string> {
    return this.#domains;
  }

  /** Throws Error where something reads what is not made any more. */
  apply(patch: GraphPatch): void {
    const gone = this.#unread();
    for (const [node, specs] of this.#replaced) patch.nodes.set(node, specs);
    for (const node of gone) patch.nodes.set(node, []);
    for (const [name, tensor] of this.#added) patch.added.set(name, tensor);
    const kept = new Set([...this.#replaced.values()].flat().flatMap(({ outputs = [] }) => outputs));
    for (const node of [...gone, ...this.#replaced.keys()]) {
      for (const value of node.outputs) {
        if (value === undefined || kept.has(value.name)) continue;
        this.#checkUnread(value, node, gone);
        if (value.declared !== undefined) patch.declared.set(value.name, null);
      }
    }
  }

  /** Nodes of the match whose results nobody reads any more, from the last to the first. */
  #unread(): ReadonlySet<Node> {
    const gone = new Set<Node>();
    for (const node of [...this.#matched].sort((a, b) => b.id - a.id)) {
      if (this.#replaced.has(node)) continue;
      const isRead = (value: Value) => value.isOutput || this.#readersOf(value, gone).length > 0;
      if (!node.outputs.some((value) => value !== undefined && isRead(value))) gone.add(node);
    }
    return gone;
  }

  /** Who reads a value once the edits are made; a new node is named by the one that it replaces. */
  #readersOf(value: Value, gone: ReadonlySet<Node>): Node[] {
    const old = value.consumers.filter((reader) => !gone.has(reader) && !this.#replaced.has(reader));
    const fresh = [...this.#replaced].filter(([, specs]) =>
      specs.some(({ inputs = [] }) => inputs.includes(value.name)),
    );
    return [...old, ...fresh.map(([node]) => node)];
  }

  #checkUnread(value: Value, node: Node, gone: ReadonlySet<Node>): void {
    const [reader] = this.#readersOf(value, gone);
    if (!value.isOutput && reader === undefined) return;
    const who = reader === undefined ? "is an output of the graph" : `is read by ${describeNode(reader)}`;
    throw new Error(`${describeNode(node)} is gone, and its "${value.name}" ${who}`);
  }

  #specOf(
    { op, domain = "", inputs, outputs, attributes = {} }: NewNode,
    node: Node,
    isLast: boolean,
  ): NodeSpec {
    if (domain !== "") this.#domains.add(domain);
    if (!isLast && outputs === undefined)
      throw new Error(`replace: ${op} in front of another node has outputs of its own (edits.value)`);
    const own = Object.entries(attributes).map(([name, value]) => [name, specOfAttribute(value)] as const);
    const removed = node.attributes.map(({ name }) => [name, null] as const);
    return {
      // The last one keeps what the exporter wrote about the node: its name, and the line that made it.
      ...(isLast ? { base: node } : { name: "" }),
      opType: op,
      domain,
      inputs: inputs.map((input) => nameOf(input)),
      outputs: (outputs ?? node.outputs).map((output) => nameOf(output)),
      attributes: new Map<string, AttributeSpec | null>([...(isLast ? removed : []), ...own]),
    };
  }
}

function nameOf(value: Value | string | undefined): string {
  return typeof value === "string" ? value : (value?.name ?? "");
}

function specOfAttribute(value: NewAttribute): AttributeSpec {
  if (typeof value === "string") return { type: "string", value };
  if (typeof value === "number") return { type: Number.isInteger(value) ? "int" : "float", value };
  if ("float" in value) return { type: "float", value: value.float };
  if ("floats" in value) return { type: "floats", values: value.floats };
  return { type: "ints", values: value };
}

/** `HardSigmoid, Mul`, for notes. */
export function operatorsOf(nodes: readonly Node[]): string {
  return nodes.map(({ opType }) => opType).join(", ");
}

/** How a place is called where it may be left out. */
export function partOf(code: string, root: Node): string {
  return `${code}: ${labelOf(root)}`;
}
