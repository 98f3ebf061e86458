/** @file Gather: whole slices of an axis, by index. */

import { type Axis, indexMap, paddedSize, sizeOfAxis } from "../../ir/axis.ts";
import { unknownDim } from "../../ir/dim.ts";
import type { AxisContext } from "../axes.ts";
import { keepLane } from "../lanes.ts";
import { defineOp } from "../op.ts";
import { normalizeAxis, numbersAt, tensorAt } from "../shape.ts";
import { elementAt, fill, folded, wrapIndex } from "./elements.ts";

export const gather = defineOp({
  domain: "",
  type: "Gather",
  axes: gatherAxes,
  lanes: keepLane,
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
  const at = normalizeAxis(context.int("axis") ?? 0, data.length);
  const rows = data[at];
  if (rows === undefined) return;
  for (const axis of indices) context.block(axis, "reads indices along it");
  const given = numbersAt(context, 1);
  if (given !== undefined && indices.length < 2 && tensorAt(context, 1).dtype === "int64") {
    rewriteIndices(context, rows, given);
    // Rows of a table that is stored: indices that the model computes never reach beyond the true ones.
  } else if (given !== undefined || !context.isStored(0)) context.block(rows, "takes positions along it");
  context.setAxes(0, data.toSpliced(at, 1, ...indices));
}

/** Constant indices follow their rows. */
function rewriteIndices(context: AxisContext, rows: Axis, indices: readonly number[]): void {
  const size = sizeOfAxis(rows);
  context.rewriteInput(1, (sizes) => {
    if (paddedSize(rows, sizes) === size) return indices;
    const map = indexMap(rows, sizes);
    return indices.map((index) => map.indexOf(index < 0 ? index + size : index));
  });
}
