import { mulDims, unknownDim } from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import { operandLane } from "../lanes.ts";
import { defineOp, ShapeError } from "../op.ts";
import { elementsOf, tensorAt, unknownShape } from "../shape.ts";
import { half } from "../traits.ts";
import { elementAt, fill, folded, lengthOf } from "./elements.ts";
import { tileAxes } from "./repeat-axes.ts";

/** Every axis repeated as often as input 1 says. */
export const tile = defineOp({
  domain: "",
  type: "Tile",
  traits: {
    elements: "moved",
    half: half(1, 13),
    layout: "fixed",
    sameSince: 7,
    scale: "first",
    uses: { 1: { kind: "count" } },
  },
  axes: tileAxes,
  lanes: (context) => operandLane(context, 0),
  infer(context) {
    const input = tensorAt(context, 0);
    const repeats = tensorAt(context, 1);
    const rank = input.shape?.length ?? lengthOf(repeats);
    if (rank === undefined) return [fill(input.dtype, undefined, undefined)];
    const times = elementsOf(repeats);
    if (times !== undefined && times.length !== rank) {
      throw new ShapeError(textOf`Tile of rank ${rank} has ${times.length} repeats`);
    }
    const shape = (input.shape ?? unknownShape(rank)).map((dim, axis) =>
      mulDims(dim, times?.[axis] ?? unknownDim()),
    );
    const source = folded(input);
    return [
      fill(
        input.dtype,
        shape,
        source &&
          ((position) =>
            elementAt(
              source,
              position.map((index, axis) => index % (source.shape[axis] ?? 1)),
            )),
      ),
    ];
  },
});
