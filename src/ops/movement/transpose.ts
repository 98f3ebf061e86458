/** @file Transpose: axes in another order. */

import { ceilDivDims, type Dim, mulDims, product, type Shape } from "../../ir/dim.ts";
import { type DType, dtypes } from "../../ir/dtype.ts";
import { textOf } from "../../ir/message.ts";
import { keepLane } from "../lanes.ts";
import { defineOp, type OpContext, ShapeError } from "../op.ts";
import { tensorAt, unknownShape } from "../shape.ts";
import { half } from "../traits.ts";
import type { Work } from "../work.ts";
import { elementAt, fill, folded } from "./elements.ts";

export const transpose = defineOp({
  domain: "",
  type: "Transpose",
  traits: { elements: "permuted", half: half(1, 13), layout: "fixed", sameSince: 7, scale: "first" },
  infer(context) {
    const input = tensorAt(context, 0);
    const order = orderOf(context, input.shape?.length);
    if (order === undefined) return [fill(input.dtype, undefined, undefined)];
    const { shape } = input;
    const source = folded(input);
    return [
      fill(
        input.dtype,
        shape === undefined ? unknownShape(order.length) : order.map((axis) => shape[axis] ?? 1),
        source && ((position) => elementAt(source, inputPosition(position, order))),
      ),
    ];
  },
  axes(context) {
    const axes = context.axesOf(0);
    const order = orderOf(context, axes?.length);
    if (axes === undefined || order === undefined) return context.blockAll("has operands of unknown sizes");
    context.setAxes(
      0,
      order.flatMap((axis) => axes[axis] ?? []),
    );
  },
  lanes: keepLane,
  pass: "permute",
  work(context) {
    const { shape, dtype } = tensorAt(context, 0);
    const order = orderOf(context, shape?.length);
    return shape === undefined || dtype === undefined || order === undefined
      ? undefined
      : transposeWork(shape, order, dtype);
  },
});

/** For each axis of the output, the axis of the input; reversed where the node does not say. */
function orderOf(context: OpContext, rank: number | undefined): readonly number[] | undefined {
  const order = context.ints("perm");
  if (order === undefined) {
    return rank === undefined ? undefined : Array.from({ length: rank }, (_, axis) => rank - 1 - axis);
  }
  const sorted = order.toSorted((a, b) => a - b);
  if (sorted.some((axis, index) => axis !== index) || (rank !== undefined && rank !== order.length)) {
    throw new ShapeError(
      textOf`perm ${order} does not order the axes of a tensor of rank ${rank ?? "unknown"}`,
    );
  }
  return order;
}

function inputPosition(position: readonly number[], order: readonly number[]): number[] {
  const result = new Array<number>(order.length).fill(0);
  for (const [axis, from] of order.entries()) result[from] = position[axis] ?? 0;
  return result;
}

/** Nothing where only axes of size 1 move; else one pass whose columns are the longest run that stays contiguous. */
export function transposeWork(shape: Shape, order: readonly number[], dtype: DType): readonly Work[] {
  const moved = order.filter((axis) => shape[axis] !== 1);
  if (moved.every((axis, index) => index === 0 || axis > (moved[index - 1] ?? -1))) return [];
  const inOrder = moved.toSorted((a, b) => a - b);
  let first = moved.length;
  while (first > 0 && moved[first - 1] === inOrder[first - 1]) first--;
  const sizesOf = (axes: readonly number[]): Dim => product(axes.map((axis) => shape[axis] ?? 1));
  const bytes = ceilDivDims(mulDims(product(shape), dtypes[dtype].bits), 8);
  return [
    {
      kind: "traffic",
      pattern: "copy",
      rows: sizesOf(moved.slice(0, first)),
      columns: sizesOf(moved.slice(first)),
      bytesRead: bytes,
      bytesWritten: bytes,
      dtype,
    },
  ];
}
