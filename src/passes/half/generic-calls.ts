/** @file Calls of local functions whose bodies compute in whatever type they are given. */
import type { Scope } from "../../facts/scope.ts";
import type { Node, Value } from "../../ir/model.ts";
import { isProduct } from "../../ops/ask.ts";
import type { HalfType, Slot } from "./accepts.ts";
import type { FloatNode } from "./graph.ts";
import { imprecision, overflow } from "./operators.ts";
import { dtypeIn, type NodeSlots, slotsOf, subgraphsOf } from "./slots.ts";

/** A node's slots, a call's by the body of its function. Calls of anything else stay FP32. */
export function operandSlots(node: Node, scope: Scope, type: HalfType): NodeSlots {
  const call = callOf(node, scope);
  return (call && genericSlots(node, scope, call, type)) ?? slotsOf(node, scope, type);
}

/** Whether a node is a product, or calls a function that holds one. */
export function holdsProduct(node: Node, scope: Scope): boolean {
  const call = callOf(node, scope);
  if (call === undefined) return isProduct(node);
  return call.graph.nodes.some((inner) => holdsProduct(inner, call));
}

function callOf(node: Node, scope: Scope): Scope | undefined {
  return scope.children.get(node)?.find((child) => child.functionName !== undefined);
}

/**
 * Undefined unless every node of the body takes its type from its inputs, and none has reason to stay FP32. An input
 * of the function that only goes to FP32 operands (the scales of a Resize) is FP32.
 */
function genericSlots(node: Node, scope: Scope, call: Scope, type: HalfType): NodeSlots | undefined {
  const inputs = new Map<Value, Slot>();
  for (const inner of call.graph.nodes) {
    const entry: FloatNode = {
      node: inner,
      scope: call,
      ...operandSlots(inner, call, type),
      isProduct: false,
    };
    if (!isGeneric(entry) || !joinInputs(entry, inputs)) return undefined;
  }
  const slotOf = (value: Value | undefined, inner: Value | undefined): Slot => {
    if (dtypeIn(value, scope) !== "float32") return "other";
    return (inner && inputs.get(inner)) ?? "half";
  };
  const outputs = node.outputs.map((value, position) => slotOf(value, call.graph.outputs[position]));
  if (outputs.includes("float")) return undefined;
  return {
    inputs: node.inputs.map((value, position) => slotOf(value, call.graph.inputs[position])),
    outputs,
  };
}

function isGeneric(entry: FloatNode): boolean {
  const { node, inputs, outputs } = entry;
  if (subgraphsOf(node).length > 0 || outputs.includes("float")) return false;
  if (outputs.includes("half") && !inputs.includes("half")) return false;
  return imprecision(node) === undefined && overflow(entry) === undefined;
}

/** Notes what each FP32 input of the function is asked to be; false where its readers disagree. */
function joinInputs({ node, scope, inputs }: FloatNode, known: Map<Value, Slot>): boolean {
  return node.inputs.every((value, position) => {
    const slot = inputs[position];
    if (value === undefined || slot === undefined || slot === "other" || slot === "any") return true;
    if (!scope.graph.inputs.includes(value)) return slot === "half";
    const before = known.get(value) ?? slot;
    known.set(value, slot);
    return before === slot;
  });
}
