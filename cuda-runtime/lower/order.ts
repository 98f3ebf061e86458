/** @file ArgMax, ArgMin, TopK, CumSum and CumProd. */

import { textOf } from "../../src/ir/message.ts";
import { elementCount } from "../ir/view.ts";
import { emitArg, emitTopK } from "../kernels/order/order.ts";
import { emitScan } from "../kernels/scan/scan.ts";
import type { LowerContext, LowerTable } from "./context.ts";
import { withReducedAxes } from "./reduction.ts";

export const orderLowerings: LowerTable = {
  ArgMax: (context) => lowerArg(context, true),
  ArgMin: (context) => lowerArg(context, false),
  TopK: lowerTopK,
  CumSum: (context) => lowerScan(context, false),
  CumProd: (context) => lowerScan(context, true),
};

function axisOf(context: LowerContext, named: number, rank: number): number {
  const axis = named < 0 ? named + rank : named;
  if (!Number.isInteger(axis) || axis < 0 || axis >= rank) {
    context.fail(textOf`axis ${named} is outside a tensor of rank ${rank}`);
  }
  return axis;
}

function lowerArg(context: LowerContext, isLargest: boolean): void {
  const shape = context.inputShape(0);
  const axis = axisOf(context, context.int("axis") ?? 0, shape.length);
  if (shape[axis] === 0 && elementCount(context.outputShape(0)) > 0) {
    context.fail("an axis without elements has no largest or smallest one");
  }
  emitArg(context, {
    input: context.input(0),
    axis,
    isLargest,
    isLastIndex: context.int("select_last_index") === 1,
    output: withReducedAxes(context.output(0), shape, new Set([axis])),
  });
}

function lowerTopK(context: LowerContext): void {
  const shape = context.inputShape(0);
  const axis = axisOf(context, context.int("axis") ?? -1, shape.length);
  const input = context.input(0);
  const result = context.outputShape(0);
  // The elements are moved, not computed: they keep the input's type.
  const values = context.temporary(input.type, result);
  const indices = context.hasOutput(1) ? context.output(1) : context.temporary("int64", result);
  emitTopK(context, {
    input,
    axis,
    values,
    indices,
    isLargest: context.int("largest") !== 0,
  });
  context.setOutput(0, values);
}

function lowerScan(context: LowerContext, isProduct: boolean): void {
  const [named = 0] = context.knownElements(1);
  const rank = context.inputShape(0).length;
  emitScan(context, {
    input: context.input(0),
    output: context.output(0),
    axis: axisOf(context, named, rank),
    isExclusive: context.int("exclusive") === 1,
    isReverse: context.int("reverse") === 1,
    isProduct,
  });
}
