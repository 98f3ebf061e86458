/** @file How each operand of a node takes part in its choice of type. */
import { intAttributeIn } from "../../facts/attributes.ts";
import type { Facts } from "../../facts/infer.ts";
import type { Scope } from "../../facts/scope.ts";
import { isStored } from "../../facts/stored.ts";
import { type DType, isFloat } from "../../ir/dtype.ts";
import type { Graph, Node, Value } from "../../ir/model.ts";
import { isDequantizing, isOp } from "../../ops/ask.ts";
import { emitted } from "../../ops/emitted.ts";
import { accepts, type HalfType, type Slot, typesOf } from "./accepts.ts";

export function dtypeIn(value: Value | undefined, scope: Scope): DType | undefined {
  const fact = value === undefined ? undefined : scope.fact(value);
  return fact?.kind === "tensor" ? fact.dtype : undefined;
}

export function subgraphsOf(node: Node): Graph[] {
  return node.attributes.flatMap(({ value }) => {
    if (value.type === "graph") return [value.graph];
    return value.type === "graphs" ? value.graphs : [];
  });
}

export interface NodeSlots {
  readonly inputs: readonly Slot[];
  readonly outputs: readonly Slot[];
}

/** How each operand takes part, by the operator's types; all FP32 stays where these do not allow half. */
export function slotsOf(node: Node, scope: Scope, type: HalfType): NodeSlots {
  const types = typesOf(node.domain, node.opType);
  const opset = scope.opsets.get(node.domain) ?? scope.model.opsets.get(node.domain) ?? 1;
  const fixed = types === undefined || !accepts(types, type, opset) || !hasOwnTypes(node, scope);
  const slotsFor = (values: Node["inputs"], exceptions: Readonly<Record<number, Slot>> | undefined) =>
    values.map((value, position): Slot => {
      if (dtypeIn(value, scope) !== "float32") return "other";
      return fixed ? "float" : (exceptions?.[position] ?? "half");
    });
  const slots = {
    inputs: slotsFor(node.inputs, types?.inputs),
    outputs: slotsFor(node.outputs, types?.outputs),
  };
  return fixed || isUniform(node, scope, slots) ? slots : allFloat(slots);
}

/** A function's call and a node with bodies are what these are; types that an attribute fixes are fixed. */
function hasOwnTypes(node: Node, scope: Scope): boolean {
  if (scope.children.has(node) || subgraphsOf(node).length > 0) return false;
  if (node.domain !== "") return true;
  // Half weights may come out of codes; half activations would only be turned into codes again.
  if (isDequantizing(node)) {
    const [codes] = node.inputs;
    return (
      codes !== undefined &&
      isStored(codes, scope) &&
      intAttributeIn(node, "output_dtype", scope) === undefined
    );
  }
  // Where another half precision ends, someone has decided that it should.
  if (isOp(node, emitted.Cast)) return !isHalf(dtypeIn(node.inputs[0], scope));
  return true;
}

export function isHalf(dtype: DType | undefined): boolean {
  return dtype === "float16" || dtype === "bfloat16";
}

/** Whether nothing of unknown or of another float type stands where the node's type would be. */
function isUniform(node: Node, scope: Scope, { inputs, outputs }: NodeSlots): boolean {
  if (![...inputs, ...outputs].includes("half")) return true;
  const types = typesOf(node.domain, node.opType);
  const fits = (
    values: Node["inputs"],
    slots: readonly Slot[],
    exceptions: Readonly<Record<number, Slot>> | undefined,
  ) =>
    values.every((value, position) => {
      if (value === undefined || slots[position] !== "other" || exceptions?.[position] !== undefined)
        return true;
      const fact = scope.fact(value);
      return fact?.kind === "tensor" && fact.dtype !== undefined && !isFloat(fact.dtype);
    });
  return fits(node.inputs, inputs, types?.inputs) && fits(node.outputs, outputs, types?.outputs);
}

function allFloat({ inputs, outputs }: NodeSlots): NodeSlots {
  const toFloat = (slot: Slot): Slot => (slot === "other" ? "other" : "float");
  return { inputs: inputs.map(toFloat), outputs: outputs.map(toFloat) };
}

/** Whether a value of the main graph is in it. */
export function holds({ root }: Facts, type: HalfType): boolean {
  for (const value of root.graph.values.values()) if (dtypeIn(value, root) === type) return true;
  return false;
}
