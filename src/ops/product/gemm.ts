/** @file Gemm: Y [M,N] = alpha · A · B + beta · C, with A and B optionally stored transposed. */

import { type Dim, type Shape, sameDim, unknownDim } from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import { defineOp, type OpContext, ShapeError, type TensorFact } from "../op.ts";
import { broadcast, tensor, tensorAt } from "../shape.ts";
import { half } from "../traits.ts";
import type { GemmWork } from "../work.ts";
import { gemmAxes, gemmLane } from "./matrix-axes.ts";
import type { Orientation } from "./matrix-product.ts";
import { dimAt, multiplyType, requireRank, sharedOr, sharedType } from "./operands.ts";

export interface GemmSizes {
  readonly m: Dim;
  readonly n: Dim;
  readonly k: Dim;
}

export const gemm = defineOp({
  domain: "",
  type: "Gemm",
  traits: { elements: "computed", half: half(1, 13), layout: "fixed", sameSince: 7, scale: "weight-either" },
  product: true,
  infer: inferGemm,
  work: gemmOpWork,
  axes: (context) => gemmAxes(context, orientationOf(context)),
  lanes: (context) => gemmLane(context, orientationOf(context)),
});

/** Shared with operators that fuse an activation behind a Gemm. */
export function inferGemm(context: OpContext): readonly TensorFact[] {
  const { a, b, c, m, n } = operands(context);
  return [tensor(sharedType("A, B and C", a, b, c), [m, n])];
}

export function gemmOpWork(context: OpContext): readonly GemmWork[] | undefined {
  const { a, b, c, m, n, k, transA, transB } = operands(context);
  const dtype = multiplyType(sharedType("A, B and C", a, b, c));
  if (dtype === undefined) return undefined;
  return [{ kind: "gemm", batch: 1, m, n, k, transA, transB, sharedB: true, dtype }];
}

function operands(context: OpContext) {
  const a = tensorAt(context, 0);
  const b = tensorAt(context, 1);
  const c = tensorAt(context, 2);
  const { transA, transB } = orientationOf(context);
  return { a, b, c, transA, transB, ...gemmSizes(a, b, c, transA, transB) };
}

/** The attributes transA and transB, absent ones as 0. */
export function orientationOf(context: OpContext): Orientation {
  return { transA: (context.int("transA") ?? 0) !== 0, transB: (context.int("transB") ?? 0) !== 0 };
}

/** Sizes of a product of two matrices to which C [M,N], [1,N], [M,1], [N], [1] or [] is added. */
export function gemmSizes(
  a: TensorFact,
  b: TensorFact,
  c: TensorFact,
  transA: boolean,
  transB: boolean,
): GemmSizes {
  requireRank(a, [2], "A");
  requireRank(b, [2], "B");
  const k = sharedOr("inner axes of A and B", dimAt(a.shape, transA ? 0 : 1), dimAt(b.shape, transB ? 1 : 0));
  const m = dimAt(a.shape, transA ? 1 : 0) ?? unknownDim();
  const n = dimAt(b.shape, transB ? 0 : 1) ?? unknownDim();
  const [rows = m, columns = n] = c.shape === undefined ? [] : addedTo([m, n], c.shape);
  return { m: rows, n: columns, k };
}

/** C broadcasts to the product, never the product to C. */
function addedTo(sizes: Shape, c: Shape): Shape {
  const sum = broadcast(sizes, c) ?? sizes;
  const grown = sizes.some((dim, axis) => typeof dim === "number" && !sameDim(dim, sum[axis] ?? dim));
  if (sum.length > 2 || grown) {
    throw new ShapeError(textOf`C ${c} does not broadcast to ${sizes}`);
  }
  return sum;
}
