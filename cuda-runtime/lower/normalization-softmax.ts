/** @file Softmax, LogSoftmax and Hardmax. */

import { isFloatStorage } from "../ir/storage.ts";
import { elementCount, reshaped } from "../ir/view.ts";
import { emitSoftmax, type SoftmaxMode } from "../kernels/softmax/softmax.ts";
import type { Lower, LowerTable } from "./context.ts";
import { axisOf, keptOrder } from "./movement-arguments.ts";

function softmax(mode: SoftmaxMode): Lower {
  return (context) => {
    const x = context.input(0);
    const { shape } = x;
    const rank = shape.length;
    if (!isFloatStorage(x.type) && x.type !== "float64")
      context.fail(`input 0 is ${x.type}, expected a float type`);
    const isDouble = (x.type === "float64") === (context.outputType(0) === "float64");
    if (!isDouble)
      context.fail(
        `output 0 of ${x.type} is to be ${context.outputType(0)}; float64 is computed from float64 alone`,
      );
    if (context.opset >= 13) {
      const y = context.output(0, keptOrder(x));
      // A scalar is one element of one axis.
      const [from, to] = rank === 0 ? [scalarRow(x), scalarRow(y)] : [x, y];
      const axis = rank === 0 ? 0 : axisOf(context.int("axis") ?? -1, rank);
      return emitSoftmax(context, { x: from, y: to, axis, mode });
    }
    // A matrix, whose columns begin at `axis`.
    const axis = axisOf(context.int("axis") ?? 1, rank);
    const matrix = [elementCount(shape.slice(0, axis)), elementCount(shape.slice(axis))];
    const from = reshaped(context.packed(x), matrix);
    const to = reshaped(context.output(0), matrix);
    if (from === undefined || to === undefined)
      return context.fail(`cannot view [${shape.join(",")}] as a matrix`);
    return emitSoftmax(context, { x: from, y: to, axis: 1, mode });
  };
}

function scalarRow<T extends { readonly shape: readonly number[] }>(view: T): T {
  return { ...view, shape: [1], strides: [1] };
}

export const softmaxLowerings: LowerTable = {
  Softmax: softmax("softmax"),
  LogSoftmax: softmax("logSoftmax"),
  Hardmax: softmax("hardmax"),
};
