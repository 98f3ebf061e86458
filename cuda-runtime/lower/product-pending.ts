/** @file Products that wait for their epilogue, and what follows them. */

import type { Emitter } from "../ir/emitter.ts";
import { type Epilogue, type PendingProduct, plainEpilogue } from "../ir/epilogue.ts";
import { matchEpilogue } from "../ir/epilogue-match.ts";
import type { Expr } from "../ir/expr.ts";
import { load, productLeaf } from "../ir/expr-build.ts";
import { isFloatStorage, type StorageType } from "../ir/storage.ts";
import { expanded, type View } from "../ir/view.ts";
import { emitGemm } from "../kernels/gemm/gemm.ts";
import type { LowerContext } from "./context.ts";

export interface MatrixProduct {
  /** [...batch, m, k] */
  readonly a: View;
  /** [...batch, k, n], of the same rank. */
  readonly b: View;
  /** Of the operator's output. */
  readonly shape: readonly number[];
  readonly type: StorageType;
  /** A view of the operator's output as [...batch, m, n]. */
  readonly place: (view: View) => View;
  /** The output's axis that is n; undefined where there is none. */
  readonly channelAxis: number | undefined;
  readonly alpha?: number | undefined;
}

export function pendingOf(emitter: Emitter, product: MatrixProduct): PendingProduct {
  const { a, b, shape, type, place, channelAxis, alpha } = product;
  return {
    shape,
    type,
    channelAxis,
    order: shape.map((_, axis) => axis),
    acceptsOutput: (view) => isFloatStorage(view.type) && view.strides.every((stride) => stride >= 0),
    acceptsResidual: (view) => isFloatStorage(view.type) && view.shape.length <= shape.length,
    emit(epilogue: Epilogue, to: View) {
      const residual = epilogue.residual && place(expanded(epilogue.residual, shape));
      emitGemm(emitter, { a, b, to: place(to), epilogue: { ...epilogue, residual }, alpha });
    },
  };
}

/** Sets the output to what `after` makes of the product: in its epilogue where that can do it, else in a step behind. */
export function setAfter(context: LowerContext, product: PendingProduct, after?: (sum: Expr) => Expr): void {
  if (after === undefined) return context.setProduct(0, product);
  const expr = after(productLeaf(product));
  if (matchEpilogue(expr, product.shape) !== undefined) return context.setExpr(0, expr);
  const sum = context.temporary(product.type, product.shape);
  product.emit(plainEpilogue, sum);
  context.setExpr(0, after(load(sum)));
}

/** Both of one float type. What differs becomes the wider, except that weights follow the other operand. */
export function alike(emitter: Emitter, a: View, b: View): readonly [View, View] {
  if (a.type === b.type) return [a, b];
  if (emitter.isConstant(b)) return [a, emitter.packed(b, { type: a.type })];
  if (emitter.isConstant(a)) return [emitter.packed(a, { type: b.type }), b];
  return [emitter.packed(a, { type: "float32" }), emitter.packed(b, { type: "float32" })];
}

/** A new axis of one element in front of `axis`. */
export function unsqueezed(view: View, axis: number): View {
  return {
    ...view,
    shape: view.shape.toSpliced(axis, 0, 1),
    strides: view.strides.toSpliced(axis, 0, 0),
  };
}

/** With axes of one element in front, up to `rank`. */
export function ofRank(view: View, rank: number): View {
  return view.shape.length >= rank ? view : ofRank(unsqueezed(view, 0), rank);
}
