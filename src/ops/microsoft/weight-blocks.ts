/** @file Axes and padded lanes of MatMulNBits: columns are rows of codes, of scales and of zero points; K stays, as its blocks lie. */
import { type Axis, paddedSize, sizeOfAxis } from "../../ir/axis.ts";
import type { AxisContext, Lane, LaneContext } from "../axes.ts";
import { mixLanes, productLane, zeroOrFinite } from "../lanes.ts";
import { addedLane } from "../product/matrix-axes.ts";

/** Positions of A, codes [N, blocks, bytes], scales and zero points (a row a column, or flat), bias [N]. */
const [a, codes, scales, zeros, bias] = [0, 1, 2, 3, 5] as const;

export function blockedAxes(context: AxisContext): void {
  const [rows, stored] = [context.axesOf(a), context.axesOf(codes)];
  const [columns, ...blocks] = stored ?? [];
  const isWhole = [codes, scales, zeros, bias].every(
    (index) => context.inputs[index] === undefined || context.isStored(index),
  );
  if (rows === undefined || columns === undefined || !isWhole)
    return context.blockAll("has weights that are not in the file");
  for (const axis of [...rows.slice(-1), ...blocks]) context.block(axis, "multiplies by blocks along it");
  for (const index of [scales, zeros, bias]) joinRows(context, index, columns);
  context.rewriteAttribute("N", (sizes) => paddedSize(columns, sizes));
  context.setAxes(0, [...rows.slice(0, -1), columns]);
}

/** As many numbers a column as there are, the columns outermost. */
function joinRows(context: AxisContext, index: number, columns: Axis): void {
  const [first, ...rest] = context.axesOf(index) ?? [];
  if (first === undefined) return;
  const parts = context.solver.split(first, sizeOfAxis(columns));
  if (parts === undefined)
    return context.block(columns, "has scales or zero points that do not come apart by column");
  context.solver.unify(parts[0], columns, "columns of MatMulNBits differ in structure");
  for (const axis of [...(sizeOfAxis(parts[1]) > 1 ? [parts[1]] : []), ...rest])
    context.block(axis, "has a scale for each block");
}

/** (code - zero) scale: a scale of zero makes a column of zeros. */
export function blockedLane(context: LaneContext): Lane {
  const fact = context.inputs[a];
  const rank = fact?.kind === "tensor" ? (fact.shape?.length ?? 1) : 1;
  const rows = Array.from({ length: rank - 1 }, (_, axis) => [[a, axis] as const]);
  const product = productLane(context, [...rows, [[scales, 0] as const]], [a, scales]);
  return mixLanes([zeroOrFinite(product), addedLane(context, bias)]);
}
