/** @file Nodes that compute what another one does: one weight turned for each of its readers is turned once. */
import { isIntegral } from "../../ir/dtype.ts";
import type { AttributeValue, Node } from "../../ir/model.ts";
import type { AttributeSpec } from "../../ir/patch.ts";
import { emitted } from "../../ops/emitted.ts";
import { findOp } from "../../ops/registry.ts";
import { rename } from "./alias.ts";
import type { Draft } from "./draft.ts";

/** Longer vectors of numbers are told apart by name alone. */
const maxCompared = 16;

/** Of nodes with the same operator, attributes and inputs the first stays. Adds to `removed`; whether any went. */
export function mergeEqual(draft: Draft, removed: string[]): boolean {
  const before = removed.length;
  const groups = new Map<string, Map<unknown, Group>>();
  const operandOf = operands(draft);
  for (const node of draft.nodes) {
    if (!mayMerge(draft, node)) continue;
    const inputs = draft.inputsOf(node);
    const ofOperator = groups.get(draft.opTypeOf(node)) ?? new Map<unknown, Group>();
    groups.set(draft.opTypeOf(node), ofOperator);
    const operand = operandOf(inputs[0] ?? "");
    const group = ofOperator.get(operand);
    if (group === undefined) {
      ofOperator.set(operand, { node, inputs, first: undefined });
      continue;
    }
    const twin = twinIn(group, draft, node, inputs, operandOf);
    if (twin !== undefined && replace(draft, node, twin)) removed.push(node.opType);
  }
  return removed.length > before;
}

/** Nodes of one operator that read the same first: few, so that few are written out in full. */
interface Group {
  /** The first of them, and what it read when it was met. */
  readonly node: Node;
  readonly inputs: readonly string[];
  /** By key, once there is a second one. */
  first: Map<string, Node> | undefined;
}

/** The first node that computes the same; `node` becomes the first where there is none. */
function twinIn(
  group: Group,
  draft: Draft,
  node: Node,
  inputs: readonly string[],
  operandOf: OperandOf,
): Node | undefined {
  if (group.first === undefined) {
    group.first = new Map();
    const key = keyOf(draft, group.node, group.inputs, operandOf);
    if (key !== undefined) group.first.set(key, group.node);
  }
  const key = keyOf(draft, node, inputs, operandOf);
  const twin = key === undefined ? undefined : group.first.get(key);
  if (key !== undefined && twin === undefined) group.first.set(key, node);
  return twin;
}

function mayMerge(draft: Draft, node: Node): boolean {
  const type = draft.opTypeOf(node);
  const definition = draft.isStandard(node) ? findOp("", type) : undefined;
  return definition !== undefined && definition.random === undefined && type !== emitted.Constant;
}

/** Everything that the results depend on, as text; undefined where that is not all. */
function keyOf(
  draft: Draft,
  node: Node,
  inputs: readonly string[],
  operandOf: OperandOf,
): string | undefined {
  const attributes: (readonly [string, string])[] = [];
  for (const [name, value] of draft.attributesOf(node)) {
    const text = attributeText(value);
    if (text === undefined) return undefined;
    attributes.push([name, text]);
  }
  attributes.sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([draft.opTypeOf(node), attributes, inputs.map(operandOf)]);
}

/** Undefined where two that differ could give one text: numbers that were rounded, and what is no number or text. */
function attributeText(value: AttributeValue | AttributeSpec): string | undefined {
  switch (value.type) {
    case "int":
    case "ints": {
      const values = "value" in value ? [value.value] : value.values;
      return values.every(Number.isSafeInteger) ? `${value.type} ${values.join()}` : undefined;
    }
    case "float":
    case "floats": {
      const values = "value" in value ? [value.value] : value.values;
      return `${value.type} ${values.map(numberText).join()}`;
    }
    case "string":
      return `string ${JSON.stringify(value.value)}`;
    default:
      return undefined;
  }
}

function numberText(value: number): string {
  return Object.is(value, -0) ? "-0" : String(value);
}

function isNumber(value: number): boolean {
  return !Number.isNaN(value);
}

/** Something to tell operands apart by. */
type OperandOf = (name: string) => unknown;

/** Short constants that hold the same are one operand, under whichever name. */
function operands(draft: Draft): OperandOf {
  const known = new Map<string, unknown>();
  const constants = new Map<string, unknown>();
  const read = (name: string) => {
    const stored = name === "" ? undefined : draft.storedOf(name);
    const numbers = stored?.numbers(maxCompared);
    const isExact = isIntegral(stored?.dtype) ? Number.isSafeInteger : isNumber;
    if (stored === undefined || numbers?.every(isExact) !== true) return name;
    const contents = [stored.dtype, stored.dims, numbers.map(numberText)];
    const text = JSON.stringify(contents);
    // One object for equal ones.
    if (!constants.has(text)) constants.set(text, contents);
    return constants.get(text);
  };
  return (name) => {
    if (!known.has(name)) known.set(name, read(name));
    return known.get(name);
  };
}

/** Everybody reads the twin's outputs. False where both names have to stay. */
function replace(draft: Draft, node: Node, twin: Node): boolean {
  const [own, other] = [draft.outputsOf(node), draft.outputsOf(twin)];
  const pairs = own.flatMap((name, index) => (name === "" ? [] : [[name, other[index] ?? ""] as const]));
  if (!pairs.every(([name, same]) => same !== "" && (draft.isFree(name) || draft.isFree(same)))) return false;
  draft.remove(node);
  for (const [name, same] of pairs) {
    if (draft.isFree(name)) draft.readInstead(name, same);
    else rename(draft, twin, same, name);
  }
  return true;
}
