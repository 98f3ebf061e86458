/** @file GatherElements: the indices have the shape of the result, and replace one coordinate of each position. */

import { unknownDim } from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import { defineOp, ShapeError } from "../op.ts";
import { normalizeAxis, tensorAt } from "../shape.ts";
import { half } from "../traits.ts";
import { elementAt, fill, folded, wrapIndex } from "./elements.ts";

export const gatherElements = defineOp({
  domain: "",
  type: "GatherElements",
  traits: {
    elements: "moved",
    half: half(11, 13),
    layout: "fixed",
    sameSince: 11,
    uses: { 1: { kind: "index", table: 0, axis: "attribute" } },
  },
  infer(context) {
    const data = tensorAt(context, 0);
    const indices = tensorAt(context, 1);
    const rank = data.shape?.length ?? indices.shape?.length;
    if (indices.shape !== undefined && indices.shape.length !== rank) {
      throw new ShapeError(
        textOf`GatherElements of rank ${rank} has indices of rank ${indices.shape.length}`,
      );
    }
    const source = folded(data);
    const places = folded(indices);
    if (source === undefined || places === undefined) return [fill(data.dtype, indices.shape, undefined)];
    const axis = normalizeAxis(context.int("axis") ?? 0, source.shape.length);
    return [
      fill(data.dtype, indices.shape, (position) => {
        const index = wrapIndex(elementAt(places, position), source.shape[axis]);
        return index === undefined ? unknownDim() : elementAt(source, position.with(axis, index));
      }),
    ];
  },
});
