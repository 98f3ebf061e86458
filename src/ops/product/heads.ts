/** @file Operands of attention: [batch, heads, length, head size], or [batch, length, heads · head size]. */

import {
  addDims,
  type Dim,
  divideExactly,
  floorDivDims,
  mulDims,
  type Shape,
  sameDim,
} from "../../ir/dim.ts";
import type { DType } from "../../ir/dtype.ts";
import { textOf } from "../../ir/message.ts";
import { ShapeError, type TensorFact } from "../op.ts";
import type { AttentionWork } from "../work.ts";
import { multiplyType, requireRank, sharedOr } from "./operands.ts";

/** Sizes of one operand; undefined is not known. */
export interface HeadSizes {
  readonly batch: Dim | undefined;
  readonly heads: Dim | undefined;
  readonly length: Dim | undefined;
  readonly headDim: Dim | undefined;
}

const nothingKnown: HeadSizes = { batch: undefined, heads: undefined, length: undefined, headDim: undefined };

/** Reads an operand by its rank, 3 or 4; `heads` is the attribute that rank 3 needs. */
export function headSizes(fact: TensorFact, heads: number | undefined, what: string): HeadSizes {
  requireRank(fact, [3, 4], what);
  const { shape } = fact;
  if (shape === undefined) return { ...nothingKnown, heads };
  const [batch, second, third, fourth] = shape;
  if (shape.length === 4) return { batch, heads: second, length: third, headDim: fourth };
  if (heads === undefined)
    throw new ShapeError(textOf`${what} has rank 3, but its number of heads is not given`);
  return {
    batch,
    heads,
    length: second,
    headDim: third === undefined ? undefined : splitEvenly(third, heads, what),
  };
}

/** One of `parts` equal parts of a hidden axis. */
export function splitEvenly(hidden: Dim, parts: Dim, what: string): Dim {
  if (typeof parts === "number" && parts < 1) throw new ShapeError(textOf`${what} has ${parts} heads`);
  const part = divideExactly(hidden, parts);
  if (part !== undefined) return part;
  if (typeof hidden === "number" && typeof parts === "number") {
    throw new ShapeError(textOf`hidden size ${hidden} of ${what} is not divisible by ${parts} heads`);
  }
  return floorDivDims(hidden, parts);
}

export interface AttentionSizes {
  readonly batch: Dim;
  readonly heads: Dim;
  readonly kvHeads: Dim;
  readonly queryLength: Dim;
  /** Past and new keys. */
  readonly keyLength: Dim;
  readonly headDim: Dim;
  readonly valueHeadDim: Dim;
}

/** Joins Q, K and V, and `past` keys (undefined: not known how many) in front of the new ones. Throws where they do not fit. */
export function attentionSizes(
  q: HeadSizes,
  k: HeadSizes,
  v: HeadSizes,
  past: Dim | undefined,
): AttentionSizes {
  const newKeys = sharedOr("lengths of K and V", k.length, v.length);
  const heads = sharedOr("heads of Q", q.heads);
  const kvHeads = sharedOr("heads of K and V", k.heads, v.heads);
  if (typeof heads === "number" && typeof kvHeads === "number" && heads % kvHeads !== 0) {
    throw new ShapeError(textOf`Q has ${heads} heads, expected a multiple of the ${kvHeads} of K and V`);
  }
  return {
    batch: sharedOr("batch of Q, K and V", q.batch, k.batch, v.batch),
    heads,
    kvHeads,
    queryLength: sharedOr("length of Q", q.length),
    keyLength: addDims(sharedOr("past length", past), newKeys),
    headDim: sharedOr("head size of Q and K", q.headDim, k.headDim),
    valueHeadDim: sharedOr("head size of V", v.headDim),
  };
}

/** Y in the form that Q has: rank 3 or 4. */
export function attentionOutput(sizes: AttentionSizes, rank: number | undefined): Shape | undefined {
  const { batch, heads, queryLength, valueHeadDim } = sizes;
  if (rank === undefined) return undefined;
  return rank === 4
    ? [batch, heads, queryLength, valueHeadDim]
    : [batch, queryLength, mulDims(heads, valueHeadDim)];
}

/** `causal` halves the scores only where queries and keys are the same positions: behind a cache every key counts. */
export function attentionWork(
  sizes: AttentionSizes,
  dtype: DType | undefined,
  causal: boolean,
  masked: boolean,
): AttentionWork | undefined {
  const computeType = multiplyType(dtype);
  if (computeType === undefined) return undefined;
  const triangular = causal && sameDim(sizes.queryLength, sizes.keyLength);
  return { kind: "attention", ...sizes, causal: triangular, masked, dtype: computeType };
}
