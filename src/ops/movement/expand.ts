import { operandLane } from "../lanes.ts";
import { defineOp } from "../op.ts";
import { broadcast, tensorAt } from "../shape.ts";
import { half } from "../traits.ts";
import { elementAt, fill, folded, shapeGivenBy } from "./elements.ts";
import { expandAxes } from "./repeat-axes.ts";

/** Broadcast to a shape, in both directions: a target of 1 keeps the size of the input. */
export const expand = defineOp({
  domain: "",
  type: "Expand",
  traits: {
    elements: "moved",
    half: half(8, 13),
    layout: "fixed",
    sameSince: 8,
    scale: "first",
    uses: { 1: { kind: "count" } },
  },
  axes: expandAxes,
  lanes: (context) => operandLane(context, 0),
  infer(context) {
    const input = tensorAt(context, 0);
    const shape = broadcast(input.shape, shapeGivenBy(tensorAt(context, 1)));
    const source = folded(input);
    if (shape === undefined || source === undefined) return [fill(input.dtype, shape, undefined)];
    const added = shape.length - source.shape.length;
    return [
      fill(input.dtype, shape, (position) =>
        elementAt(
          source,
          source.shape.map((size, axis) => (size === 1 ? 0 : (position[axis + added] ?? 0))),
        ),
      ),
    ];
  },
});
