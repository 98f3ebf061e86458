/** @file Heads by attribute: `num_heads`, and `kv_num_heads` where key heads are shared. */

import { type Dim, mulDims, type Shape } from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import { type OpContext, ShapeError } from "../op.ts";
import { splitEvenly } from "../product/heads.ts";
import { dimAt, requireRank, sharedOr } from "../product/operands.ts";
import { tensorAt } from "../shape.ts";

export function headsOf(context: OpContext, name = "num_heads"): number {
  const heads = context.int(name);
  if (heads === undefined || heads < 1)
    throw new ShapeError(textOf`the attribute ${name} is ${heads ?? "missing"}`);
  return heads;
}

/** A scale of 0 stands for the default, 1/√head size. */
export function hasOwnScale(context: OpContext): boolean {
  return (context.float("scale") ?? 0) !== 0;
}

export interface GroupedHeads {
  readonly heads: number;
  readonly kvHeads: number;
  readonly headDim: Dim;
  /** Of the query: [B,S], or [tokens]. */
  readonly rows: Shape | undefined;
  /** [...rows, heads · head size]. */
  readonly output: Shape | undefined;
}

/** query [...rows, N·D] with key [..., Nkv·D], or Q, K and V in one as [...rows, (N + 2·Nkv)·D]. */
export function groupedHeads(context: OpContext, rank: number): GroupedHeads {
  const query = tensorAt(context, 0);
  requireRank(query, [rank], "query");
  const heads = headsOf(context);
  const kvHeads = headsOf(context, "kv_num_heads");
  const merged = context.inputs[1] === undefined;
  const headDim = sharedOr(
    "head size of query and key",
    part(dimAt(query.shape, -1), merged ? heads + 2 * kvHeads : heads, "query"),
    part(dimAt(tensorAt(context, 1).shape, -1), kvHeads, "key"),
  );
  const rows = query.shape?.slice(0, -1);
  const output = rows === undefined ? undefined : [...rows, mulDims(heads, headDim)];
  return { heads, kvHeads, headDim, rows, output };
}

function part(hidden: Dim | undefined, parts: number, what: string): Dim | undefined {
  return hidden === undefined ? undefined : splitEvenly(hidden, parts, what);
}
