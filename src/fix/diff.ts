/** @file What differs between two models, in terms of nodes and tensors: `--diff`. */
import { storedElements, storedTensor } from "../facts/stored.ts";
import {
  type AttributeValue,
  labelOf,
  type Model,
  type Node,
  operatorOf,
  type TensorRef,
  type Value,
} from "../ir/model.ts";
import { nodesIn } from "../ir/nodes.ts";

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
  /** Of the main graph. */
  readonly nodes: readonly NodeChange[];
  /** Nodes inside functions, branches and bodies of loops, of which each is counted where it is written: those after less those before. */
  readonly addedInside: number;
  /** Functions that only the model after it has, and the nodes in their bodies, which are among `addedInside`; absent where there are none. */
  readonly newFunctions?: { readonly functions: number; readonly nodes: number };
  readonly tensors: readonly TensorChange[];
  /** Of the stored tensors, the bytes that are new or changed minus those that went. */
  readonly addedElements: number;
}

/**
 * What nodes and values of `before` are called in `after`, where that is otherwise. One that is gone while another has its name has one that
 * nobody has: `goneName`.
 */
export interface Renames {
  readonly nodes: ReadonlyMap<string, string>;
  readonly values: ReadonlyMap<string, string>;
}

const noRenames: Renames = { nodes: new Map(), values: new Map() };

const goneMark = "\u0000gone";

export function goneName(name: string): string {
  return `${name}${goneMark}`;
}

/** Compares main graphs. Nodes are matched by name, else by their first output. */
export function diffModels(before: Model, after: Model, renames = noRenames): ModelDiff {
  const tensors = diffTensors(before, after, renames);
  const nodes = diffNodes(before, after, renames);
  const addedInside = nodesInside(after) - nodesInside(before);
  const addedElements = elementsOf(after) - elementsOf(before);
  return { nodes, addedInside, ...newFunctionsIn(before, after), tensors, addedElements };
}

function newFunctionsIn(before: Model, after: Model): Pick<ModelDiff, "newFunctions"> {
  const added = [...after.functions].filter(([key]) => !before.functions.has(key));
  const nodes = added.reduce((sum, [, { graph }]) => sum + nodesUnder(graph.nodes), 0);
  return added.length === 0 ? {} : { newFunctions: { functions: added.length, nodes } };
}

/** With those in their subgraphs. */
function nodesUnder(nodes: readonly Node[]): number {
  return nodes.reduce((sum, node) => sum + 1 + [...nodesIn(node)].length, 0);
}

function nodesInside({ nodeCount, graph }: Model): number {
  return nodeCount - graph.nodes.length;
}

function diffTensors(before: Model, after: Model, { values }: Renames): TensorChange[] {
  const old = storedOf(before, (name) => values.get(name) ?? name);
  const now = storedOf(after, (name) => name);
  const names = new Set([...old.keys(), ...now.keys()]);
  return [...names].flatMap((name) => {
    const [was, is] = [old.get(name), now.get(name)];
    const change = { name: shown(name), before: was?.text ?? null, after: is?.text ?? null };
    if (change.before === change.after) return [];
    // A Constant that comes or goes is told as a node.
    const isNode = (was ?? is)?.isNode === true && (was === undefined || is === undefined);
    return isNode ? [] : [change];
  });
}

function shown(name: string): string {
  return name.endsWith(goneMark) ? name.slice(0, -goneMark.length) : name;
}

interface StoredTensor {
  readonly text: string;
  /** Whether it is a Constant's. */
  readonly isNode: boolean;
}

function storedOf(model: Model, nameOf: (name: string) => string): Map<string, StoredTensor> {
  const stored = new Map<string, StoredTensor>();
  for (const value of model.graph.values.values()) {
    const tensor = value.initializer ?? storedTensor(value);
    if (tensor !== undefined)
      stored.set(nameOf(value.name), { text: describe(tensor), isNode: value.initializer === undefined });
  }
  return stored;
}

/** `float32[129,67,3,3]`. */
export function describe({ dtype, dtypeCode, dims }: TensorRef): string {
  return `${dtype ?? `type ${dtypeCode}`}[${dims.join(",")}]`;
}

function diffNodes(before: Model, after: Model, { nodes, values }: Renames): NodeChange[] {
  const old = new Map(before.graph.nodes.map((node) => [nodes.get(labelOf(node)) ?? labelOf(node), node]));
  const now = new Map(after.graph.nodes.map((node) => [labelOf(node), node]));
  const removed = [...old]
    .filter(([name]) => !now.has(name))
    .map(([name, node]) => changeOf(shown(name), node, "removed"));
  const rest = [...now].flatMap(([name, node]) => {
    const was = old.get(name);
    if (was === undefined) return [changeOf(name, node, "added")];
    const details = detailsOf(was, node, values);
    return details.length === 0 ? [] : [{ ...changeOf(name, node, "changed"), details }];
  });
  return [...removed, ...rest];
}

function changeOf(name: string, node: Node, kind: NodeChange["kind"]): NodeChange {
  return { name, op: operatorOf(node), kind, details: [] };
}

function detailsOf(before: Node, after: Node, values: Renames["values"]): string[] {
  const [from, to] = [operatorOf(before), operatorOf(after)];
  return [
    ...(from === to ? [] : [`${from} → ${to}`]),
    ...diffNames("input", before.inputs, after.inputs, values),
    ...diffNames("output", before.outputs, after.outputs, values),
    ...diffAttributes(before, after),
  ];
}

/** What two Constants hold is told as tensors. */
function diffAttributes(before: Node, after: Node): string[] {
  const [old, now] = [attributesOf(before), attributesOf(after)];
  const areTensors = [before, after].every(({ outputs: [value] }) => value && storedTensor(value));
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((name) => {
    if (areTensors && name === "value") return [];
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
  values: Renames["values"],
): string[] {
  const count = Math.max(before.length, after.length);
  return Array.from({ length: count }, (_, index) => {
    const [was, now] = [before[index]?.name ?? "", after[index]?.name ?? ""];
    const old = values.get(was) ?? was;
    return old === now ? "" : `${role} ${index} "${shown(old)}" → "${now}"`;
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
  for (const value of model.graph.values.values()) elements += storedElements(value);
  return elements;
}
