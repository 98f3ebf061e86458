/** @file Gather: whole slices of an axis, by index. */
import { unknownDim } from "../../ir/dim.ts";
import { defineOp } from "../op.ts";
import { normalizeAxis, tensorAt } from "../shape.ts";
import { elementAt, fill, folded, wrapIndex } from "./elements.ts";

export const gather = defineOp({
  domain: "",
  type: "Gather",
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
