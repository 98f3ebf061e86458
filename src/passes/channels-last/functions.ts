/** @file NHWC operators as model-local functions in the domain `tc_lint.nhwc`: Transpose, the operator, Transpose. */
import type { Attribute, FunctionDefinition, Model, Node } from "../../ir/model.ts";
import type { AttributeSpec, FunctionSpec, NodeSpec } from "../../ir/patch.ts";
import { emitted } from "../../ops/emitted.ts";
import { nhwcDomain } from "../../ops/nhwc.ts";

/** Functions came with IR version 8. Source: onnx.proto. */
export const leastIrVersion = 8;

export const toNchw = [0, 3, 1, 2];
export const toNhwc = [0, 2, 3, 1];

type Plain = Exclude<AttributeSpec, { type: "tensor" | "reference" }>;

/** `image`: what comes out is turned back to NHWC; `plain`: it has no layout. */
export type Result = "image" | "plain";

/** A chain of nodes as one call: each reads what the one before it gives, and `operands` from outside. */
export interface ChainCall {
  readonly name: string;
  /** What the call reads after the image. */
  readonly operands: readonly string[];
}

/**
 * Collects the functions that calls need; those that the model has already are used again. One function for each
 * operator, number of inputs and set of attributes: a body can neither omit an input nor take an attribute that the
 * caller leaves out.
 */
export class NhwcFunctions {
  readonly specs: FunctionSpec[] = [];
  readonly #opset: number;
  /** Names by what the functions do. */
  readonly #names = new Map<string, string>();
  readonly #taken = new Set<string>();
  #called = false;

  constructor(model: Model) {
    this.#opset = model.opsets.get("") ?? 1;
    for (const definition of model.functions.values()) {
      if (definition.domain !== nhwcDomain) continue;
      this.#taken.add(definition.name);
      if (definition.overload === "" && definition.defaults.length === 0)
        this.#names.set(textOf(definition), definition.name);
    }
  }

  /** Whether anything calls one. */
  get isUsed(): boolean {
    return this.#called;
  }

  /** Whether the attributes of the nodes can be passed on, or written into a body. */
  canCall(...nodes: readonly Node[]): boolean {
    return nodes.every(({ attributes }) =>
      attributes.every(({ value }) => plainAttribute(value) !== undefined),
    );
  }

  /** Name of the function that computes `node`, which can be called, on NHWC values. */
  call(node: Node, result: Result): string {
    const references = plainAttributes(node).map(([name, { type }]): [string, AttributeSpec] => [
      name,
      { type: "reference", to: name, of: type },
    ]);
    const inputs = node.inputs.map((_, index) => `x${index}`);
    const operands = node.inputs.slice(1).map((input, index) => (input === undefined ? "" : `x${index + 1}`));
    const step = { opType: node.opType, operands, attributes: new Map(references) };
    return this.#add(
      node.opType,
      inputs,
      references.map(([name]) => name),
      this.#body([step], result),
    );
  }

  /** One function for a chain of nodes, which can be called, their attributes written into it. */
  chain(nodes: readonly Node[]): ChainCall {
    const operands: string[] = [];
    const steps = nodes.map((node): Step => {
      const own = node.inputs.slice(1).map((input) => {
        if (input === undefined) return "";
        operands.push(input.name);
        return `x${operands.length}`;
      });
      return { opType: node.opType, operands: own, attributes: new Map(plainAttributes(node)) };
    });
    const inputs = ["x0", ...operands.map((_, index) => `x${index + 1}`)];
    const stem = nodes.map(({ opType }) => opType).join("_");
    return { name: this.#add(stem, inputs, [], this.#body(steps, "image")), operands };
  }

  #body(steps: readonly Step[], result: Result): NodeSpec[] {
    const nodes: NodeSpec[] = [transpose("x0", "t0", toNchw)];
    for (const [index, { opType, operands, attributes }] of steps.entries()) {
      const isLast = index === steps.length - 1;
      const output = isLast && result === "plain" ? "y" : `t${index + 1}`;
      nodes.push({ opType, inputs: [`t${index}`, ...operands], outputs: [output], attributes });
    }
    if (result === "image") nodes.push(transpose(`t${steps.length}`, "y", toNhwc));
    return nodes;
  }

  #add(stem: string, inputs: string[], attributes: string[], nodes: NodeSpec[]): string {
    this.#called = true;
    const opsets = new Map([["", this.#opset]]);
    const plain = { domain: nhwcDomain, name: stem, inputs, outputs: ["y"], attributes, opsets, nodes };
    const text = textOfSpec(plain);
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    let name = stem;
    for (let count = 2; this.#taken.has(name); count++) name = `${stem}_${count}`;
    this.#taken.add(name);
    this.#names.set(text, name);
    this.specs.push({ ...plain, name });
    return name;
  }
}

interface Step {
  readonly opType: string;
  /** All but the first input. */
  readonly operands: readonly string[];
  readonly attributes: ReadonlyMap<string, AttributeSpec>;
}

export function perm(values: readonly number[]): AttributeSpec {
  return { type: "ints", values };
}

function transpose(from: string, to: string, order: readonly number[]): NodeSpec {
  const attributes = new Map([["perm", perm(order)]]);
  return { opType: emitted.Transpose, inputs: [from], outputs: [to], attributes };
}

function plainAttributes(node: Node): [string, Plain][] {
  const known = node.attributes.flatMap(({ name, value }): [string, Plain][] => {
    const plain = plainAttribute(value);
    return plain === undefined ? [] : [[name, plain]];
  });
  return known.sort(byName);
}

/** What can be written anew by its value. */
export function plainAttribute(value: Attribute["value"]): Plain | undefined {
  switch (value.type) {
    case "int":
    case "float":
    case "string":
    case "ints":
    case "floats":
      return value;
    default:
      return undefined;
  }
}

/** What a function does, its name aside: equal texts, equal functions. */
function textOf({ graph, opsets }: FunctionDefinition): string {
  const names = (values: readonly ({ readonly name: string } | undefined)[]) =>
    values.map((value) => value?.name ?? "");
  const nodes = graph.nodes.map(({ domain, opType, inputs, outputs, attributes }) => {
    const entries = attributes.map(({ name, value }): Entry => [name, attributeText(value)]);
    return [domain, opType, names(inputs), names(outputs), entries.sort(byName)];
  });
  return JSON.stringify([names(graph.inputs), names(graph.outputs), opsets.get("") ?? 1, nodes]);
}

function textOfSpec({ inputs, outputs, opsets, nodes }: FunctionSpec): string {
  const texts = nodes.map((node) => {
    const entries = [...(node.attributes ?? [])].map(([name, value]): Entry => [name, attributeText(value)]);
    return [node.domain ?? "", node.opType, node.inputs, node.outputs, entries.sort(byName)];
  });
  return JSON.stringify([inputs, outputs, opsets.get("") ?? 1, texts]);
}

type Entry = readonly [name: string, value: unknown];

function attributeText(value: Attribute["value"] | AttributeSpec | null): unknown {
  if (value === null) return null;
  if (value.type === "reference") return ["reference", value.to];
  if ("values" in value) return [value.type, value.values];
  return "value" in value ? [value.type, value.value] : [value.type];
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}
