/** @file Activations of two inputs: PRelu and SwiGLU. */

import type { Shape } from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import { broadcastAxes, finiteLane, isZero, zeroLane } from "../axes.ts";
import { failing, finiteIfKnown, joinLanes, multiplyLanes, operandLanes, zeroOrFinite } from "../lanes.ts";
import { defineOp, ShapeError } from "../op.ts";
import { tensor, tensorAt, unify } from "../shape.ts";
import { half } from "../traits.ts";

/** The slope broadcasts to the input, never the other way. */
export const prelu = defineOp({
  domain: "",
  type: "PRelu",
  traits: { elements: "computed", half: half(1, 16), layout: "lanewise", sameSince: 7, scale: "first" },
  infer(context) {
    const input = tensorAt(context, 0);
    const slope = tensorAt(context, 1);
    if (input.shape !== undefined && slope.shape !== undefined) checkSlope(input.shape, slope.shape);
    return [tensor(input.dtype ?? slope.dtype, input.shape)];
  },
  axes: broadcastAxes,
  lanes(context) {
    const [input = finiteLane, slope = finiteLane] = operandLanes(context);
    if (slope.kind === "unknown") return slope;
    const { fails } = joinLanes([input, slope]);
    return isZero(input) ? failing(zeroLane, fails) : finiteIfKnown(joinLanes([input, slope]));
  },
  traffic: "elementwise",
  pass: "add",
});

function checkSlope(input: Shape, slope: Shape): void {
  const outer = input.length - slope.length;
  const fits = slope.every((size, axis) => {
    const target = outer + axis < 0 ? 1 : input[outer + axis];
    return size === 1 || typeof size !== "number" || typeof target !== "number" || size === target;
  });
  if (!fits) throw new ShapeError(textOf`slope ${slope} does not broadcast to the input ${input}`);
}

/** Swish(A) · B for inputs of one shape. */
export const swiglu = defineOp({
  domain: "",
  type: "SwiGLU",
  traits: { elements: "computed", half: half(28, 28), layout: "fixed" },
  infer(context) {
    const gate = tensorAt(context, 0);
    const value = tensorAt(context, 1);
    const dtype = gate.dtype ?? value.dtype;
    const { shape } = gate;
    if (shape === undefined || value.shape === undefined) return [tensor(dtype, shape ?? value.shape)];
    if (shape.length !== value.shape.length) {
      throw new ShapeError(
        textOf`inputs have ranks ${shape.length} and ${value.shape.length}, expected the same shape`,
      );
    }
    const sizes = value.shape.map((size, axis) =>
      unify(shape[axis] ?? size, size, `axis ${axis} of the inputs`),
    );
    return [tensor(dtype, sizes)];
  },
  axes: broadcastAxes,
  lanes: (context) => zeroOrFinite(operandLanes(context).reduce(multiplyLanes)),
  traffic: "elementwise",
  pass: "add",
});
