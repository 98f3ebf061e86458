import { unknownDim } from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import { passAxes } from "../axes.ts";
import { keepLane, zeroOrFinite } from "../lanes.ts";
import { defineOp, ShapeError } from "../op.ts";
import { tensorAt } from "../shape.ts";
import { half } from "../traits.ts";
import { elementAt, fill, folded, scalarOf } from "./elements.ts";

/** The upper (or lower) triangle of the last two axes, from diagonal `k` (input 1) on; zeros elsewhere. */
export const trilu = defineOp({
  domain: "",
  type: "Trilu",
  traits: { elements: "moved", half: half(14, 14), layout: "fixed", sameSince: 14 },
  axes(context) {
    const rank = tensorAt(context, 0).shape?.length ?? 0;
    passAxes(context, (axis) => axis < rank - 2, "takes a triangle of it");
  },
  // Zeros replace some elements of every lane.
  lanes: (context) => zeroOrFinite(keepLane(context)),
  infer(context) {
    const input = tensorAt(context, 0);
    if (input.shape !== undefined && input.shape.length < 2) {
      throw new ShapeError(textOf`input 0 has rank ${input.shape.length}, expected at least 2`);
    }
    const upper = (context.int("upper") ?? 1) !== 0;
    const diagonal = context.inputs[1] === undefined ? 0 : scalarOf(tensorAt(context, 1));
    const source = folded(input);
    if (source === undefined) return [fill(input.dtype, input.shape, undefined)];
    return [
      fill(input.dtype, input.shape, (position) => {
        if (typeof diagonal !== "number") return unknownDim();
        const distance = (position.at(-1) ?? 0) - (position.at(-2) ?? 0);
        const kept = upper ? distance >= diagonal : distance <= diagonal;
        return kept ? elementAt(source, position) : 0;
      }),
    ];
  },
});
