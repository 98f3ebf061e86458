/** @file Constants in half, or clamped: computed when the file is written, not before. */
import type { Scope } from "../../facts/scope.ts";
import { storedTensor } from "../../facts/stored.ts";
import { bytesOf, type DType } from "../../ir/dtype.ts";
import { InputError } from "../../ir/errors.ts";
import type { TensorRef, Value } from "../../ir/model.ts";
import type { AttributeSpec, OpenTensor, TensorBytes, TensorSpec } from "../../ir/patch.ts";
import { encodeNumbers, MemoryBytes } from "../tensors.ts";
import { TransformedTensor } from "../transform-tensor.ts";
import type { HalfType } from "./accepts.ts";
import { fillOf, plainNumbers } from "./magnitudes.ts";

type Target = HalfType | "float32";

/** The elements of a stored value as `to`, none below `least`. */
export function storedAs(value: Value, to: Target, least: number | undefined, open: OpenTensor): TensorSpec {
  const tensor = storedTensor(value);
  if (tensor === undefined) {
    const attribute = value.producer?.attributes.find(({ name }) => name.startsWith("value_float"));
    const numbers = plainNumbers(value) ?? [];
    return numbersAs(numbers, attribute?.name === "value_float" ? [] : [numbers.length], to, least);
  }
  const { dims } = tensor;
  if (dims.includes(0)) return { dtype: to, dims, bytes: new MemoryBytes(new Uint8Array(0)) };
  return { dtype: to, dims, bytes: new LateTensor(tensor, to, least, open) };
}

/** Whether a stored value's elements are in a data file. */
export function isExternal(value: Value): boolean {
  return storedTensor(value)?.data.kind === "external";
}

/** Not so where they are in a data file that is not there. */
export function canRead(value: Value, open: OpenTensor): boolean {
  const tensor = storedTensor(value);
  if (tensor?.data.kind !== "external" || tensor.dims.includes(0)) return true;
  try {
    open(tensor);
    return true;
  } catch (error) {
    if (error instanceof InputError && error.code === "weights-missing") return false;
    throw error;
  }
}

/** What ConstantOfShape fills with, as `to`. */
export function fillAs(value: Value, scope: Scope, to: Target, least: number | undefined): TensorSpec {
  return numbersAs(fillOf(value, scope) ?? [0], [1], to, least);
}

export function numbersAs(
  numbers: readonly number[],
  dims: readonly number[],
  dtype: DType,
  least = -Infinity,
): TensorSpec {
  // Only what lies below every number of the format is raised: −∞ stays.
  const clamped = numbers.map((number) => (number === -Infinity ? number : Math.max(number, least)));
  return { dtype, dims, bytes: new MemoryBytes(encodeNumbers(dtype, clamped)) };
}

/** The attributes of a Constant node that holds a tensor instead. */
export function constantAttributes(node: Value["producer"], tensor: TensorSpec) {
  const attributes = new Map<string, AttributeSpec | null>();
  for (const { name } of node?.attributes ?? []) if (name.startsWith("value")) attributes.set(name, null);
  return attributes.set("value", { type: "tensor", tensor });
}

/** Opened when it is first read: a model without its weights can be patched, though not written. */
class LateTensor implements TensorBytes {
  readonly size: number;
  readonly #start: () => TransformedTensor;
  #tensor: TransformedTensor | undefined;

  constructor(tensor: TensorRef, to: Target, least: number | undefined, open: OpenTensor) {
    const elements = tensor.dims.reduce((total, dim) => total * dim, 1);
    this.size = bytesOf(to, elements);
    const map = least === undefined ? undefined : (values: Float64Array) => raise(values, least);
    this.#start = () => new TransformedTensor(open(tensor), { from: "float32", to, map });
  }

  readInto(offset: number, target: Uint8Array): void {
    this.#tensor ??= this.#start();
    this.#tensor.readInto(offset, target);
  }
}

function raise(values: Float64Array, least: number): void {
  for (let index = 0; index < values.length; index++) {
    const value = values[index] ?? 0;
    if (value < least && value !== -Infinity) values[index] = least;
  }
}
