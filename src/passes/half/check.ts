/** @file Whether every node of a model has operand types that its operator takes: what the half pass must leave. */
import type { Facts } from "../../facts/infer.ts";
import type { Scope } from "../../facts/scope.ts";
import { type DType, isFloat } from "../../ir/dtype.ts";
import { labelOf, type Node } from "../../ir/model.ts";
import { traitsOf } from "../../ops/ask.ts";
import type { HalfTraits } from "../../ops/traits.ts";
import { accepts, type Slot, typesOf } from "./accepts.ts";
import { dtypeIn, isHalf } from "./slots.ts";

/** One line for every node that breaks its operator's types, and for every value that is not what it is declared. */
export function typeErrors(facts: Facts): string[] {
  const errors = facts.contradictions.flatMap(({ value, scope, inferred }) => {
    const declared = value.declared?.kind === "tensor" ? value.declared.dtype : undefined;
    const found = inferred?.kind === "tensor" ? inferred.dtype : undefined;
    if (declared === undefined || found === undefined || declared === found) return [];
    return [`${scope.path}: "${value.name}" is ${found}, declared ${declared}`];
  });
  for (const scope of facts.scopes()) {
    for (const node of scope.graph.nodes) {
      const error = scope.children.has(node) ? undefined : errorOf(node, scope);
      if (error !== undefined) errors.push(`${scope.path}: ${labelOf(node)} (${node.opType}) ${error}`);
    }
  }
  return errors;
}

function errorOf(node: Node, scope: Scope): string | undefined {
  if (traitsOf(node)?.half.isMixed === true) return undefined;
  const types = typesOf(node.domain, node.opType);
  const opset = scope.opsets.get(node.domain) ?? scope.model.opsets.get(node.domain) ?? 1;
  const operands = [
    ...node.inputs.map((value, position) => ({ value, slot: types?.inputs?.[position] })),
    ...node.outputs.map((value, position) => ({ value, slot: types?.outputs?.[position] })),
  ];
  const floats = operands.flatMap(({ value, slot }) => {
    const dtype = dtypeIn(value, scope);
    return dtype !== undefined && isFloat(dtype) ? [{ name: value?.name, dtype, slot }] : [];
  });
  const foreign = floats.find(({ dtype, slot }) => isHalf(dtype) && !takes(types, dtype, slot, opset));
  if (foreign !== undefined) return `does not take ${foreign.dtype} as "${foreign.name}"`;
  const shared = new Set(floats.filter(({ slot }) => slot === undefined).map(({ dtype }) => dtype));
  // A table of codes is of no float type of the operator's.
  return shared.size > 1 && types !== undefined ? `mixes ${[...shared].join(" and ")}` : undefined;
}

function takes(types: HalfTraits | undefined, dtype: DType, slot: Slot | undefined, opset: number): boolean {
  if (types === undefined || slot === "float") return false;
  return (dtype === "float16" || dtype === "bfloat16") && accepts(types, dtype, opset);
}
