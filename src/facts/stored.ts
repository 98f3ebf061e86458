/** @file Values whose elements are in the file. */

import { hasAttribute, tensorAttributeOf } from "../ir/attributes.ts";
import type { DType } from "../ir/dtype.ts";
import type { TensorRef, Value } from "../ir/model.ts";
import { isConstantNode } from "../ops/ask.ts";
import { isConstant, type Scope } from "./scope.ts";

/** Whether a value's elements are in the file: an initializer that nobody overrides, or a Constant's output. */
export function isStored(value: Value, scope: Scope): boolean {
  return isConstant(value, scope.model) || (value.producer !== undefined && isConstantNode(value.producer));
}

/**
 * The dense tensor behind a stored value, wherever exporters put it: an initializer (also one that callers may override), or a Constant's.
 * Undefined for a sparse one, and for a Constant given as plain numbers.
 */
export function storedTensor(value: Value): TensorRef | undefined {
  const { initializer, producer } = value;
  if (initializer !== undefined) return isSparse(value) ? undefined : initializer;
  return producer === undefined || !isConstantNode(producer)
    ? undefined
    : tensorAttributeOf(producer, "value");
}

/** What a Constant gives as a list of numbers, and the attribute that it is in. */
export interface StoredList {
  readonly attribute: string;
  readonly dtype: DType;
  readonly numbers: readonly number[];
}

const listTypes: Readonly<Record<string, DType>> = { value_floats: "float32", value_ints: "int64" };

export function storedList({ producer }: Value): StoredList | undefined {
  if (producer === undefined || !isConstantNode(producer)) return undefined;
  for (const { name, value } of producer.attributes) {
    const dtype = listTypes[name];
    if (dtype !== undefined && (value.type === "floats" || value.type === "ints"))
      return { attribute: name, dtype, numbers: value.values };
  }
  return undefined;
}

/** Elements of a value that are in the file, by its sizes where it is sparse; 0 where they are not. */
export function storedElements(value: Value): number {
  const tensor = value.initializer ?? storedTensor(value);
  if (tensor === undefined) return storedList(value)?.numbers.length ?? 0;
  return tensor.dims.reduce((total, dim) => total * dim, 1);
}

/** Whether the elements are in a SparseTensorProto: what no pass rewrites. */
export function isSparse({ initializer, producer }: Value): boolean {
  if (initializer !== undefined) return initializer.data.kind === "sparse";
  if (producer === undefined || !isConstantNode(producer)) return false;
  return hasAttribute(producer, "sparse_value");
}
