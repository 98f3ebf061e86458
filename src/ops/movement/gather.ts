/** @file Gather: whole slices of an axis, by index. */

import { type Axis, paddedSize, sizeOfAxis } from "../../ir/axis.ts";
import { indexMap } from "../../ir/axis-runs.ts";
import { unknownDim } from "../../ir/dim.ts";
import type { AxisContext, Lane, LaneContext } from "../axes.ts";
import { joinLanes, keepLane } from "../lanes.ts";
import { defineOp, type OpContext } from "../op.ts";
import { normalizeAxis, numbersAt, tensorAt } from "../shape.ts";
import { half } from "../traits.ts";
import { elementAt, fill, folded, wrapIndex } from "./elements.ts";

export const gather = defineOp({
  domain: "",
  type: "Gather",
  traits: {
    elements: "moved",
    half: half(1, 13),
    layout: "gathered",
    sameSince: 7,
    scale: "first",
    uses: { 1: { kind: "index", table: 0, axis: "attribute" } },
  },
  axes: gatherAxes,
  lanes: gatherLane,
  pass: "gather",
  infer(context) {
    const data = tensorAt(context, 0);
    const indices = tensorAt(context, 1);
    if (data.shape === undefined || indices.shape === undefined)
      return [fill(data.dtype, undefined, undefined)];
    const axis = normalizeAxis(context.int("axis") ?? 0, data.shape.length);
    const indexRank = indices.shape.length;
    const shape = data.shape.toSpliced(axis, 1, ...indices.shape);
    const source = folded(data);
    const places = folded(indices);
    if (source === undefined || places === undefined) return [fill(data.dtype, shape, undefined)];
    return [
      fill(data.dtype, shape, (position) => {
        const place = elementAt(places, position.slice(axis, axis + indexRank));
        const index = wrapIndex(place, source.shape[axis]);
        return index === undefined
          ? unknownDim()
          : elementAt(source, position.toSpliced(axis, indexRank, index));
      }),
    ];
  },
});

function gatherAxes(context: AxisContext): void {
  const [data, indices] = [context.axesOf(0), context.axesOf(1)];
  if (data === undefined || indices === undefined) return context.blockAll("has operands of unknown sizes");
  const { dtype } = tensorAt(context, 1);
  if (dtype !== undefined && dtype !== "int32" && dtype !== "int64")
    return context.blockAll("has indices that are no whole numbers");
  const at = axisOf(context);
  const rows = data[at];
  if (rows === undefined) return;
  const [list, ...more] = indices;
  const given = context.isStored(1) && more.length === 0 ? numbersAt(context, 1) : undefined;
  for (const axis of indices) context.block(axis, "reads indices along it");
  if (given === undefined) {
    readRows(context, rows, at);
    return context.setAxes(0, data.toSpliced(at, 1, ...indices));
  }
  // Constant indices are written for any layout of the rows and of the result.
  const gathered = list === undefined ? [] : [context.solver.atom(sizeOfAxis(list))];
  rewriteIndices(context, rows, gathered[0], given);
  context.setAxes(0, data.toSpliced(at, 1, ...gathered));
}

const positions = "takes positions along it";

/** Mod, on whole numbers. */
const remainderSince = 10;

/** Positions are told while the model runs: they have to mean the same rows, and never reach beyond the true ones. */
function readRows(context: AxisContext, rows: Axis, at: number): void {
  const counts = context.isNotNegative(1);
  const canCount = context.opset >= remainderSince && tensorAt(context, 1).dtype !== undefined;
  if (!context.isStored(0) || !(counts || canCount)) return context.block(rows, positions);
  context.keepWhole(rows, positions);
  if (!counts) context.countFromStart(1, at);
}

function axisOf(context: OpContext): number {
  return normalizeAxis(context.int("axis") ?? 0, tensorAt(context, 0).shape?.length ?? 1);
}

/** Padded positions read the row that the first index names: finite, and nobody's zero. */
function rewriteIndices(
  context: AxisContext,
  rows: Axis,
  gathered: Axis | undefined,
  indices: readonly number[],
): void {
  const size = sizeOfAxis(rows);
  context.rewriteInput(1, (sizes) => {
    const places = indexMap(rows, sizes);
    const positionOf = (index: number | undefined) =>
      places.indexOf(index === undefined || index >= 0 ? (index ?? 0) : index + size);
    const isUntouched =
      places.length === size && (gathered === undefined || paddedSize(gathered, sizes) === indices.length);
    if (isUntouched) return indices;
    const order = gathered === undefined ? [0] : [...indexMap(gathered, sizes)];
    const [first] = indices;
    return order.map((index) => positionOf(index < 0 ? first : indices[index]));
  });
}

/** Padded positions of the result hold true rows; other axes keep their lanes. */
function gatherLane(context: LaneContext): Lane {
  const at = axisOf(context);
  const end = at + (tensorAt(context, 1).shape?.length ?? 0);
  const positions = context.axesOfOutput(0);
  const isGathered = positions.some((position) => position >= at && position < end);
  const isKept = positions.some((position) => position < at || position >= end);
  return joinLanes([...(isGathered ? [context.trueLane(0)] : []), ...(isKept ? [keepLane(context)] : [])]);
}
