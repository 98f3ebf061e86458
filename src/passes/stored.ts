/** @file Values whose elements are in the file. */

import { isConstant, type Scope } from "../facts/scope.ts";
import { hasAttribute, tensorAttributeOf } from "../ir/attributes.ts";
import type { TensorRef, Value } from "../ir/model.ts";
import { isConstantNode } from "../ops/ask.ts";

/** Whether a value's elements are in the file: an initializer that nobody overrides, or a Constant's output. */
export function isStored(value: Value, scope: Scope): boolean {
  return isConstant(value, scope.model) || (value.producer !== undefined && isConstantNode(value.producer));
}

/** The dense tensor behind a stored value; undefined for a sparse one, and for a Constant given as plain numbers. */
export function storedTensor(value: Value): TensorRef | undefined {
  if (value.initializer !== undefined) return isSparse(value) ? undefined : value.initializer;
  return value.producer && tensorAttributeOf(value.producer, "value");
}

/** Whether the elements are in a SparseTensorProto: what no pass rewrites. */
export function isSparse({ initializer, producer }: Value): boolean {
  if (initializer !== undefined) return initializer.data.kind === "sparse";
  if (producer === undefined || !isConstantNode(producer)) return false;
  return hasAttribute(producer, "sparse_value");
}
