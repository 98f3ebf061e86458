/** @file Values whose elements are in the file. */
import { isConstant, type Scope } from "../facts/scope.ts";
import type { Node, TensorRef, Value } from "../ir/model.ts";

/** A node that only holds a tensor. */
export function isConstantNode(node: Node): boolean {
  return node.domain === "" && node.opType === "Constant";
}

/** Whether a value's elements are in the file: an initializer that nobody overrides, or a Constant's output. */
export function isStored(value: Value, scope: Scope): boolean {
  return isConstant(value, scope.model) || (value.producer !== undefined && isConstantNode(value.producer));
}

/** The tensor behind a stored value; undefined for a Constant given as plain numbers. */
export function storedTensor(value: Value): TensorRef | undefined {
  if (value.initializer !== undefined) return value.initializer;
  const attribute = value.producer?.attributes.find(({ name }) => name === "value")?.value;
  return attribute?.type === "tensor" ? attribute.tensor : undefined;
}
