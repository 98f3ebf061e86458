/** @file GatherND: the last axis of the indices holds positions in the data. */

import { type Shape, unknownDim } from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import { defineOp, ShapeError } from "../op.ts";
import { tensorAt, unify } from "../shape.ts";
import { half } from "../traits.ts";
import { elementAt, fill, folded, wrapIndex } from "./elements.ts";

export const gatherND = defineOp({
  domain: "",
  type: "GatherND",
  traits: {
    elements: "moved",
    half: half(11, 13),
    layout: "fixed",
    sameSince: 11,
    uses: { 1: { kind: "index", table: 0, axis: "first" } },
  },
  infer(context) {
    const data = tensorAt(context, 0);
    const indices = tensorAt(context, 1);
    const depth = indices.shape?.at(-1);
    if (data.shape === undefined || indices.shape === undefined || typeof depth !== "number") {
      return [fill(data.dtype, undefined, undefined)];
    }
    const batchAxes = context.int("batch_dims") ?? 0;
    const shape = gatheredShape(data.shape, indices.shape, batchAxes, depth);
    const source = folded(data);
    const places = folded(indices);
    if (source === undefined || places === undefined) return [fill(data.dtype, shape, undefined)];
    const indexAxes = indices.shape.length - 1;
    return [
      fill(data.dtype, shape, (position) => {
        const row = position.slice(0, indexAxes);
        const place = Array.from({ length: depth }, (_, at) =>
          wrapIndex(elementAt(places, [...row, at]), source.shape[batchAxes + at]),
        );
        if (place.includes(undefined)) return unknownDim();
        const index = place.filter((coordinate) => coordinate !== undefined);
        return elementAt(source, [...row.slice(0, batchAxes), ...index, ...position.slice(indexAxes)]);
      }),
    ];
  },
});

function gatheredShape(data: Shape, indices: Shape, batchAxes: number, depth: number): Shape {
  if (batchAxes < 0 || batchAxes + depth > data.length || batchAxes >= indices.length) {
    throw new ShapeError(
      textOf`GatherND of ${data} with indices ${indices}: too many coordinates for the rank`,
    );
  }
  const rows = indices
    .slice(0, -1)
    .map((dim, axis) =>
      axis < batchAxes ? unify(data[axis] ?? dim, dim, `GatherND batch axis ${axis}`) : dim,
    );
  return [...rows, ...data.slice(batchAxes + depth)];
}
