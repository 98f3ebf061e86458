/** @file Values that nobody can append zeros to, whatever reads them: what is stored, given or overridden in a way of its own. */
import { isConstant, type Scope } from "../../facts/scope.ts";
import { isSparse, isStored, storedList, storedTensor } from "../../facts/stored.ts";
import type { Value } from "../../ir/model.ts";
import { canEncode } from "../tensors.ts";
import { zeroForm } from "./zero-lanes.ts";

/** Why a value that no node computes must keep its size; undefined where it may grow, and for what is computed. */
export function reasonAgainst(value: Value, scope: Scope): string | undefined {
  if (value.initializer !== undefined && !isConstant(value, scope.model)) {
    return `"${value.name}" is an initializer that callers may override`;
  }
  const isHere = isStored(value, scope);
  if (value.isOutput && (value.isInput || isHere)) {
    return `"${value.name}" is an output of the model that nothing computes`;
  }
  if (!isHere) return value.isInput ? reasonAgainstInput(value, scope) : undefined;
  if (isSparse(value)) return `"${value.name}" is a sparse tensor, which stays as it is`;
  const dtype = (storedTensor(value) ?? storedList(value))?.dtype;
  if (dtype === undefined || !canEncode(dtype)) return `"${value.name}" is not stored as numbers in a tensor`;
  return undefined;
}

/** Zeros have to be appended to it. */
function reasonAgainstInput(value: Value, scope: Scope): string | undefined {
  const fact = scope.fact(value);
  const dtype = fact?.kind === "tensor" ? fact.dtype : undefined;
  const opset = scope.opsets.get("") ?? 1;
  if (zeroForm(dtype, opset) !== undefined) return undefined;
  return `"${value.name}" is an input of type ${dtype ?? "unknown"}, which opset ${opset} cannot pad`;
}
