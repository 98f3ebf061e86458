/** @file The matrix product over the last two axes, with the leading ones broadcast: shape and work. */

import { type Dim, product, type Shape, sameDim } from "../../ir/dim.ts";
import type { DType } from "../../ir/dtype.ts";
import { textOf } from "../../ir/message.ts";
import { ShapeError } from "../op.ts";
import { broadcast } from "../shape.ts";
import type { GemmWork } from "../work.ts";
import { multiplyType, sharedOr } from "./operands.ts";

/** Whether the last two axes of an operand are stored swapped. */
export interface Orientation {
  readonly transA: boolean;
  readonly transB: boolean;
}

export const asStored: Orientation = { transA: false, transB: false };

export interface MatrixProduct extends Orientation {
  readonly m: Dim;
  readonly n: Dim;
  readonly k: Dim;
  readonly batchA: Shape;
  readonly batchB: Shape;
  /** Shape of the result: [...batch, M, N], without M or N where that operand has one axis. */
  readonly output: Shape;
}

/**
 * The product of `a` [...,M,K] and `b` [...,K,N], or of their transposes; an operand of one axis is a vector.
 * Undefined where a rank is unknown; throws where the operands do not fit.
 */
export function matrixProduct(
  a: Shape | undefined,
  b: Shape | undefined,
  { transA, transB }: Orientation = asStored,
): MatrixProduct | undefined {
  if (a === undefined || b === undefined) return undefined;
  const left = lastTwo(a, transA, "A");
  const right = lastTwo(b, transB, "B");
  const k = a.length === 1 ? sharedK(left.row, right.row) : sharedK(left.column, right.row);
  const m = a.length === 1 ? 1 : left.row;
  const n = right.column;
  const batch = broadcast(left.batch, right.batch) ?? [];
  const output = [...batch, ...(a.length === 1 ? [] : [m]), ...(b.length === 1 ? [] : [n])];
  return {
    m,
    n,
    k,
    transA: transA && a.length > 1,
    transB: transB && b.length > 1,
    batchA: left.batch,
    batchB: right.batch,
    output,
  };
}

function sharedK(a: Dim, b: Dim): Dim {
  return sharedOr("inner axes of A and B", a, b);
}

/** A vector reads as one column, whichever operand it is. */
function lastTwo(shape: Shape, swapped: boolean, what: string): { batch: Shape; row: Dim; column: Dim } {
  const last = shape.at(-1);
  if (last === undefined) throw new ShapeError(textOf`${what} is a scalar, expected at least one axis`);
  const beforeLast = shape.at(-2);
  if (beforeLast === undefined) return { batch: [], row: last, column: 1 };
  const batch = shape.slice(0, -2);
  return swapped ? { batch, row: last, column: beforeLast } : { batch, row: beforeLast, column: last };
}

/**
 * The work of a matrix product. Where B has no batch axes of its own (weights), the rows of all of A's batches are
 * one product, unless A is stored transposed, which keeps its batches apart.
 */
export function matrixWork(sizes: MatrixProduct | undefined, dtype: DType | undefined): GemmWork | undefined {
  const computeType = multiplyType(dtype);
  if (sizes === undefined || computeType === undefined) return undefined;
  const { m, n, k, transA, transB, batchA, batchB } = sizes;
  const sharedB = product(batchB) === 1;
  const rows = sharedB && !transA ? product([...batchA, m]) : m;
  const batch = sharedB && !transA ? 1 : product(broadcast(batchA, batchB) ?? []);
  const work = { kind: "gemm", batch, m: rows, n, k, transA, transB, sharedB, dtype: computeType } as const;
  if (sharedB) return work;
  const [matricesA, matricesB] = [product(batchA), product(batchB)];
  return {
    ...work,
    ...(sameDim(matricesA, batch) ? {} : { matricesA }),
    ...(sameDim(matricesB, batch) ? {} : { matricesB }),
  };
}
