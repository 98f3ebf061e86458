/** @file Squeeze and Unsqueeze: axes of size 1 removed and added. */

import type { Shape } from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import { keepLane } from "../lanes.ts";
import { defineOp, ShapeError } from "../op.ts";
import { tensorAt, unknownShape } from "../shape.ts";
import { half } from "../traits.ts";
import { type AxesArgument, axesArgument, normalizeAxes } from "./axes.ts";
import { viewAs } from "./elements.ts";
import { regroupAxes } from "./regroup.ts";

export const squeeze = defineOp({
  domain: "",
  type: "Squeeze",
  traits: { elements: "same", half: half(1, 13), layout: "fixed", sameSince: 13, scale: "first" },
  traffic: "none",
  axes: regroupAxes,
  lanes: keepLane,
  infer(context) {
    const input = tensorAt(context, 0);
    return [viewAs(input, squeezed(input.shape, axesArgument(context, 1, 13)))];
  },
});

export const unsqueeze = defineOp({
  domain: "",
  type: "Unsqueeze",
  traits: { elements: "same", half: half(1, 13), layout: "fixed", sameSince: 13, scale: "first" },
  traffic: "none",
  axes: regroupAxes,
  lanes: keepLane,
  infer(context) {
    const input = tensorAt(context, 0);
    return [viewAs(input, unsqueezed(input.shape, axesArgument(context, 1, 13)))];
  },
});

function squeezed(shape: Shape | undefined, argument: AxesArgument): Shape | undefined {
  if (shape === undefined) return undefined;
  switch (argument.kind) {
    case "absent":
      // A size in symbols may turn out to be 1: not even the rank is known then.
      return shape.every((dim) => typeof dim === "number") ? shape.filter((dim) => dim !== 1) : undefined;
    case "unknown":
      return argument.count === undefined
        ? undefined
        : unknownShape(Math.max(0, shape.length - argument.count));
    case "known": {
      const axes = new Set(normalizeAxes(argument.axes, shape.length));
      return shape.filter((dim, axis) => {
        if (!axes.has(axis)) return true;
        if (typeof dim === "number" && dim !== 1) {
          throw new ShapeError(textOf`Squeeze of axis ${axis} of ${shape}: its size is ${dim}, not 1`);
        }
        return false;
      });
    }
  }
}

function unsqueezed(shape: Shape | undefined, argument: AxesArgument): Shape | undefined {
  if (shape === undefined) return undefined;
  switch (argument.kind) {
    case "absent":
      throw new ShapeError("Unsqueeze has no axes");
    case "unknown":
      return argument.count === undefined ? undefined : unknownShape(shape.length + argument.count);
    case "known": {
      const rank = shape.length + argument.axes.length;
      const added = new Set(normalizeAxes(argument.axes, rank));
      const kept = shape.values();
      return Array.from({ length: rank }, (_, axis) => (added.has(axis) ? 1 : (kept.next().value ?? 1)));
    }
  }
}
