/** @file ReduceSum and its like. */

import { scalarOf } from "../ir/scalar.ts";
import { storageTypes } from "../ir/storage.ts";
import { elementCount, type View } from "../ir/view.ts";
import { emitReduce, type Reduction } from "../kernels/reduce/reduce.ts";
import type { Lower, LowerContext, LowerTable } from "./context.ts";

interface Row extends Omit<Reduction, "divisor"> {
  /** The opset that turned the attribute `axes` into input 1. */
  readonly axesInputSince: number;
  readonly isMean?: boolean;
  /** What a reduction of nothing gives, where it does not depend on the type. */
  readonly ofNothing: number | "lowest" | "highest";
}

const rows: Readonly<Record<string, Row>> = {
  ReduceL1: { axesInputSince: 18, pre: "abs", combine: "sum", post: "none", ofNothing: 0 },
  ReduceL2: { axesInputSince: 18, pre: "square", combine: "sum", post: "sqrt", ofNothing: 0 },
  ReduceLogSum: { axesInputSince: 18, pre: "none", combine: "sum", post: "log", ofNothing: "lowest" },
  ReduceLogSumExp: {
    axesInputSince: 18,
    pre: "none",
    combine: "logSumExp",
    post: "none",
    ofNothing: "lowest",
  },
  ReduceMax: { axesInputSince: 18, pre: "none", combine: "max", post: "none", ofNothing: "lowest" },
  ReduceMean: {
    axesInputSince: 18,
    pre: "none",
    combine: "sum",
    post: "none",
    isMean: true,
    ofNothing: Number.NaN,
  },
  ReduceMin: { axesInputSince: 18, pre: "none", combine: "min", post: "none", ofNothing: "highest" },
  ReduceProd: { axesInputSince: 18, pre: "none", combine: "prod", post: "none", ofNothing: 1 },
  ReduceSum: { axesInputSince: 13, pre: "none", combine: "sum", post: "none", ofNothing: 0 },
  ReduceSumSquare: { axesInputSince: 18, pre: "square", combine: "sum", post: "none", ofNothing: 0 },
};

export const reductionLowerings: LowerTable = Object.fromEntries(
  Object.entries(rows).map(([operator, row]): [string, Lower] => [
    operator,
    (context) => lowerReduction(context, row),
  ]),
);

function lowerReduction(context: LowerContext, row: Row): void {
  const shape = context.inputShape(0);
  const axes = reducedAxes(context, row.axesInputSince, shape.length);
  // A reduction over no axes still does what it does to each element.
  if (axes.size === 0 && row.pre === "none" && row.post === "none") {
    return context.setExpr(0, context.expr(0));
  }
  if (elementCount(context.outputShape(0)) === 0) return void context.output(0);
  const count = [...axes].reduce((total, axis) => total * (shape[axis] ?? 1), 1);
  if (count === 0) {
    return context.setExpr(0, {
      kind: "constant",
      type: scalarOf(context.outputType(0)),
      value: neutralOf(context, row),
    });
  }
  const input = context.input(0);
  emitReduce(context, {
    ...row,
    input,
    axes,
    output: withReducedAxes(context.output(0), shape, axes),
    divisor: row.isMean === true ? count : 1,
    integersAs: row.post === "none" && row.combine !== "logSumExp" ? "integer" : "float64",
  });
}

/** Empty axes mean all of them, unless the node says that they mean none. */
function reducedAxes(context: LowerContext, axesInputSince: number, rank: number): ReadonlySet<number> {
  const isInput = context.opset >= axesInputSince;
  const named = isInput
    ? context.hasInput(1)
      ? context.knownElements(1)
      : []
    : (context.ints("axes") ?? []);
  if (named.length > 0) return new Set(named.map((axis) => (axis < 0 ? axis + rank : axis)));
  if (context.int("noop_with_empty_axes") === 1) return new Set();
  return new Set(Array.from({ length: rank }, (_, axis) => axis));
}

/** The output as a view of the input's rank: reduced axes have one element. */
export function withReducedAxes(output: View, shape: readonly number[], axes: ReadonlySet<number>): View {
  if (output.shape.length === shape.length) return output;
  const kept = [...output.strides];
  return {
    ...output,
    shape: shape.map((size, axis) => (axes.has(axis) ? 1 : size)),
    strides: shape.map((_, axis) => (axes.has(axis) ? 0 : (kept.shift() ?? 0))),
  };
}

function neutralOf(context: LowerContext, { ofNothing }: Row): number {
  if (typeof ofNothing === "number") return ofNothing;
  const type = context.outputType(0);
  const { kind, bytes } = storageTypes[type];
  if (kind === "float") return ofNothing === "lowest" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  if (kind === "bool") return ofNothing === "lowest" ? 0 : 1;
  const bits = 8 * bytes;
  if (ofNothing === "lowest") return kind === "uint" ? 0 : -(2 ** (bits - 1));
  if (bits === 64) context.fail("the minimum of no elements of 64 bits is not a number that a plan can hold");
  return 2 ** (kind === "uint" ? bits : bits - 1) - 1;
}
