/** @file Words for the cases: operands that are fed or stored, nodes of them. */
import type { Attributes } from "../../fixtures/builder.ts";
import type { DType } from "../../src/ir/dtype.ts";
import type { ContractCase, Operand } from "./contracts.ts";

export type Cases = Readonly<Record<string, readonly ContractCase[]>>;

export const fed = (dims: readonly number[], dtype: DType = "float32"): Operand => ({ dims, dtype });
export const within = (dims: readonly number[]): Operand => ({ dims, isBounded: true });
export const stored = (dims: readonly number[]): Operand => ({ dims, isStored: true });
export const given = (
  dims: readonly number[],
  values: readonly number[],
  dtype: DType = "float32",
): Operand => ({
  dims,
  dtype,
  values,
  isStored: true,
});
export const ints = (...values: number[]): Operand => given([values.length], values, "int64");
export const scalar = (value: number, dtype: DType = "float32"): Operand => given([], [value], dtype);
const ramp = (size: number) => Array.from({ length: size }, (_, at) => 0.5 + at / size);
export const variances = (size: number) => given([size], ramp(size));

export function node(
  operands: readonly (Operand | undefined)[],
  attributes: Attributes = {},
  opset = 17,
  outputs = 1,
): ContractCase {
  return { operands, attributes, opset, outputs };
}

/** The same for several operators. */
export function each(types: readonly string[], cases: readonly ContractCase[]): Cases {
  return Object.fromEntries(types.map((type) => [type, cases]));
}

export const float = (value: number) => ({ float: value });
export const zero = float(0);
export const [rows, image, cube] = [
  [3, 5],
  [2, 4, 5, 6],
  [2, 3, 5],
];
