/** @file Questions that products ask of their operands: an axis, a rank, the type they share and compute in. */

import { type Dim, type Shape, unknownDim } from "../../ir/dim.ts";
import type { DType } from "../../ir/dtype.ts";
import { textOf } from "../../ir/message.ts";
import { ShapeError, type TensorFact } from "../op.ts";
import { unify } from "../shape.ts";

/** The size of an axis, negative axes counted from the end; undefined where the rank is unknown or too small. */
export function dimAt(shape: Shape | undefined, axis: number): Dim | undefined {
  return shape?.at(axis);
}

/** Throws unless the rank is unknown or one of `ranks`. */
export function requireRank(fact: TensorFact, ranks: readonly number[], what: string): void {
  if (fact.shape === undefined || ranks.includes(fact.shape.length)) return;
  throw new ShapeError(textOf`${what} has rank ${fact.shape.length}, expected ${ranks.join(" or ")}`);
}

/** The one size that all the known ones of `dims` must be; undefined where none is known. */
export function shared(what: string, ...dims: readonly (Dim | undefined)[]): Dim | undefined {
  let result: Dim | undefined;
  for (const dim of dims) {
    if (dim !== undefined) result = result === undefined ? dim : unify(result, dim, what);
  }
  return result;
}

/** As `shared`, with an unknown size where no operand tells. */
export function sharedOr(what: string, ...dims: readonly (Dim | undefined)[]): Dim {
  return shared(what, ...dims) ?? unknownDim();
}

/** The element type that all `facts` must have; undefined where none is known. */
export function sharedType(what: string, ...facts: readonly (TensorFact | undefined)[]): DType | undefined {
  return sharedTypeOf(what, facts);
}

/** The same for a list, which may be longer than a call has arguments. */
export function sharedTypeOf(what: string, facts: readonly (TensorFact | undefined)[]): DType | undefined {
  let result: DType | undefined;
  for (const fact of facts) {
    const dtype = fact?.dtype;
    if (dtype === undefined) continue;
    if (result !== undefined && result !== dtype) {
      throw new ShapeError(textOf`${what} must have one element type, found ${result} and ${dtype}`);
    }
    result = dtype;
  }
  return result;
}

/**
 * What the multiply-adds of a product are carried out in. Signedness makes no difference to an integer Tensor Core
 * instruction (PTX ISA, mma: `.u8` and `.s8` mix freely), so each integer width is named by its signed type.
 */
const multiplyTypes = {
  float64: "float64",
  float32: "float32",
  float16: "float16",
  bfloat16: "bfloat16",
  float8e4m3fn: "float8e4m3fn",
  float8e4m3fnuz: "float8e4m3fnuz",
  float8e5m2: "float8e5m2",
  float8e5m2fnuz: "float8e5m2fnuz",
  float4e2m1: "float4e2m1",
  int64: "int64",
  uint64: "int64",
  int32: "int32",
  uint32: "int32",
  int16: "int16",
  uint16: "int16",
  int8: "int8",
  uint8: "int8",
  int4: "int4",
  uint4: "int4",
  int2: "int2",
  uint2: "int2",
  complex64: "complex64",
  complex128: "complex128",
  // Scales, flags and text: nothing multiplies them.
  float8e8m0: undefined,
  bool: undefined,
  string: undefined,
} as const satisfies Record<DType, DType | undefined>;

/** The compute type of a product of operands of this type; undefined where it is unknown or cannot multiply. */
export function multiplyType(dtype: DType | undefined): DType | undefined {
  return dtype === undefined ? undefined : multiplyTypes[dtype];
}
