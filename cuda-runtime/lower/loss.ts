/** @file NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss. */

import type { Expr } from "../ir/expr.ts";
import { isFloatStorage } from "../ir/storage.ts";
import { elementCount, type View } from "../ir/view.ts";
import { emitLoss } from "../kernels/loss/loss.ts";
import { emitReduce } from "../kernels/reduce/reduce.ts";
import type { LowerContext, LowerTable } from "./context.ts";

export const lossLowerings: LowerTable = {
  NegativeLogLikelihoodLoss: (context) => lowerLoss(context, false),
  SoftmaxCrossEntropyLoss: (context) => lowerLoss(context, true),
};

function lowerLoss(context: LowerContext, isSoftmax: boolean): void {
  const input = context.input(0);
  const labels = context.input(1);
  if (!isFloatStorage(input.type))
    context.fail(`scores are ${input.type}, expected float32, float16 or bfloat16`);
  if (labels.type !== "int32" && labels.type !== "int64")
    context.fail(`labels are ${labels.type}, expected int32 or int64`);
  const reduction = context.string("reduction") ?? "mean";
  if (reduction !== "none" && reduction !== "sum" && reduction !== "mean") {
    context.fail(`reduction is "${reduction}", expected none, sum or mean`);
  }
  const isEach = reduction === "none";
  const losses = isEach ? context.output(0) : context.temporary("float32", labels.shape);
  const counts = reduction === "mean" ? context.temporary("float32", labels.shape) : undefined;
  emitLoss(context, {
    input,
    labels,
    weights: context.hasInput(2) ? context.input(2) : undefined,
    losses,
    counts,
    logarithms: isSoftmax && context.hasOutput(1) ? context.output(1) : undefined,
    isSoftmax,
    ignored: context.int("ignore_index"),
  });
  if (isEach) return;
  const total = load(sumOf(context, losses));
  context.setExpr(0, counts === undefined ? total : quotient(total, load(sumOf(context, counts))));
}

/** Of all elements, as a scalar. */
function sumOf(context: LowerContext, view: View): View {
  const output = context.temporary(
    "float32",
    view.shape.map(() => 1),
  );
  if (elementCount(view.shape) === 0) return zero(context);
  emitReduce(context, {
    input: view,
    axes: new Set(view.shape.keys()),
    output,
    pre: "none",
    combine: "sum",
    post: "none",
    divisor: 1,
    integersAs: "integer",
  });
  return { ...output, shape: [], strides: [] };
}

function zero(context: LowerContext): View {
  return context.constant("float32", [], [0]);
}

function load(view: View): Expr {
  return { kind: "load", type: "f32", view };
}

function quotient(a: Expr, b: Expr): Expr {
  return { kind: "binary", type: "f32", op: "div", args: [a, b] };
}
