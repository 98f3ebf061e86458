/** @file What differs between two models, in terms of nodes and tensors: `--diff`. */
import {
  type AttributeValue,
  labelOf,
  type Model,
  type Node,
  operatorOf,
  type TensorRef,
  type Value,
} from "../ir/model.ts";

export interface TensorChange {
  readonly name: string;
  /** `float32[129,67,3,3]`; null where there is none. */
  readonly before: string | null;
  readonly after: string | null;
}

export interface NodeChange {
  readonly name: string;
  readonly op: string;
  readonly kind: "added" | "removed" | "changed";
  /** For a changed node: what is different, e.g. `group 116 → 128`, `input 1 "w" → "w_padded"`. */
  readonly details: readonly string[];
}

export interface ModelDiff {
  readonly nodes: readonly NodeChange[];
  readonly tensors: readonly TensorChange[];
  /** Of the stored tensors, the bytes that are new or changed minus those that went. */
  readonly addedElements: number;
}

/** Compares main graphs. Nodes are matched by name, else by their first output. */
export function diffModels(before: Model, after: Model): ModelDiff {
  const tensors = diffTensors(before, after);
  return { nodes: diffNodes(before, after), tensors, addedElements: elementsOf(after) - elementsOf(before) };
}

function diffTensors(before: Model, after: Model): TensorChange[] {
  const [old, now] = [storedOf(before), storedOf(after)];
  const names = new Set([...old.keys(), ...now.keys()]);
  return [...names].flatMap((name) => {
    const change = { name, before: old.get(name) ?? null, after: now.get(name) ?? null };
    return change.before === change.after ? [] : [change];
  });
}

function storedOf(model: Model): Map<string, string> {
  const stored = new Map<string, string>();
  for (const { name, initializer } of model.graph.values.values()) {
    if (initializer !== undefined) stored.set(name, describe(initializer));
  }
  return stored;
}

/** `float32[129,67,3,3]`. */
export function describe({ dtype, dtypeCode, dims }: TensorRef): string {
  return `${dtype ?? `type ${dtypeCode}`}[${dims.join(",")}]`;
}

function diffNodes(before: Model, after: Model): NodeChange[] {
  const old = new Map(before.graph.nodes.map((node) => [labelOf(node), node]));
  const now = new Map(after.graph.nodes.map((node) => [labelOf(node), node]));
  const removed = [...old]
    .filter(([name]) => !now.has(name))
    .map(([name, node]) => changeOf(name, node, "removed"));
  const rest = [...now].flatMap(([name, node]) => {
    const was = old.get(name);
    if (was === undefined) return [changeOf(name, node, "added")];
    const details = detailsOf(was, node);
    return details.length === 0 ? [] : [{ ...changeOf(name, node, "changed"), details }];
  });
  return [...removed, ...rest];
}

function changeOf(name: string, node: Node, kind: NodeChange["kind"]): NodeChange {
  return { name, op: operatorOf(node), kind, details: [] };
}

function detailsOf(before: Node, after: Node): string[] {
  const [from, to] = [operatorOf(before), operatorOf(after)];
  return [
    ...(from === to ? [] : [`${from} → ${to}`]),
    ...diffNames("input", before.inputs, after.inputs),
    ...diffNames("output", before.outputs, after.outputs),
    ...diffAttributes(before, after),
  ];
}

function diffAttributes(before: Node, after: Node): string[] {
  const [old, now] = [attributesOf(before), attributesOf(after)];
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((name) => {
    const [was, is] = [attributeText(old.get(name)), attributeText(now.get(name))];
    return was === is ? [] : [`${name} ${was} → ${is}`];
  });
}

/** Of several of one name, which a broken file may have, the first. */
function attributesOf(node: Node): Map<string, AttributeValue> {
  const attributes = new Map<string, AttributeValue>();
  for (const { name, value } of node.attributes) if (!attributes.has(name)) attributes.set(name, value);
  return attributes;
}

function diffNames(
  role: string,
  before: readonly (Value | undefined)[],
  after: readonly (Value | undefined)[],
): string[] {
  const count = Math.max(before.length, after.length);
  return Array.from({ length: count }, (_, index) => {
    const [old, now] = [before[index]?.name ?? "", after[index]?.name ?? ""];
    return old === now ? "" : `${role} ${index} "${old}" → "${now}"`;
  }).filter((text) => text !== "");
}

export function attributeText(value: AttributeValue | undefined): string {
  if (value === undefined) return "(none)";
  if (value.type === "tensor") return describe(value.tensor);
  if (value.type === "ints" || value.type === "floats" || value.type === "strings")
    return `[${value.values.join(",")}]`;
  return value.type === "int" || value.type === "float" || value.type === "string"
    ? String(value.value)
    : `(${value.type})`;
}

function elementsOf(model: Model): number {
  let elements = 0;
  for (const { initializer } of model.graph.values.values()) {
    elements += initializer?.dims.reduce((total, dim) => total * dim, 1) ?? 0;
  }
  return elements;
}
