/** @file Values whose elements are in the file. */
import { isConstant, type Scope } from "../facts/scope.ts";
import type { TensorRef, Value } from "../ir/model.ts";
import { isConstantNode } from "../ops/ask.ts";

/** Whether a value's elements are in the file: an initializer that nobody overrides, or a Constant's output. */
export function isStored(value: Value, scope: Scope): boolean {
  return isConstant(value, scope.model) || (value.producer !== undefined && isConstantNode(value.producer));
}

/** The dense tensor behind a stored value; undefined for a sparse one, and for a Constant given as plain numbers. */
export function storedTensor(value: Value): TensorRef | undefined {
  if (value.initializer !== undefined) return isSparse(value) ? undefined : value.initializer;
  const attribute = value.producer?.attributes.find(({ name }) => name === "value")?.value;
  return attribute?.type === "tensor" ? attribute.tensor : undefined;
}

/** Whether the elements are in a SparseTensorProto: what no pass rewrites. */
export function isSparse({ initializer, producer }: Value): boolean {
  if (initializer !== undefined) return initializer.data.kind === "sparse";
  if (producer === undefined || !isConstantNode(producer)) return false;
  return producer.attributes.some(({ name }) => name === "sparse_value");
}
