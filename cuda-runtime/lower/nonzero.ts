/** @file NonZero: its result has as many elements as are found, so the input has to be known: of others the host finds them, between graphs. */

import { stridesOf } from "../ir/view.ts";
import type { Lower, LowerTable } from "./context.ts";

/** Coordinates [rank, found] of the elements that are not zero, in row-major order. */
const nonZero: Lower = (context) => {
  const elements = context.knownElements(0);
  const shape = context.inputShape(0);
  const axes = shape.length === 0 ? [1] : shape;
  const strides = stridesOf(axes);
  const found = [...elements.keys()].filter((at) => elements[at] !== 0);
  const rows = axes.flatMap((size, axis) => found.map((at) => Math.floor(at / (strides[axis] ?? 1)) % size));
  context.setOutput(0, context.constant("int64", [axes.length, found.length], rows));
};

export const nonZeroLowerings: LowerTable = { NonZero: nonZero };
