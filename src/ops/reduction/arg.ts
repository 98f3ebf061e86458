/** @file ArgMax, ArgMin and TopK: reductions that say where. */

import { intAttributeOf } from "../../ir/attributes.ts";
import { type Dim, unknownDim } from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import type { Node } from "../../ir/model.ts";
import { axesBesideTrue, finiteLane } from "../axes.ts";
import { finiteLanes } from "../lanes.ts";
import { defineOp, type OpContext, type OpDefinition, ShapeError, type WorkContext } from "../op.ts";
import { elementsAt, normalizeAxis, tensor, tensorAt } from "../shape.ts";
import { rowTraffic } from "../traffic.ts";
import { computes, type Decision, half } from "../traits.ts";
import { reducedShape, rowsAndColumns, withSize } from "./axes.ts";

function argOp(type: string): OpDefinition {
  return defineOp({
    domain: "",
    type,
    traits: computes(half(1, 13), { sameSince: 7, decides: (node) => placeAlong(node, 0, 0) }),
    infer(context) {
      const { shape } = tensorAt(context, 0);
      if (shape === undefined) return [tensor("int64", undefined)];
      const axis = normalizeAxis(context.int("axis") ?? 0, shape.length);
      return [tensor("int64", reducedShape(shape, new Set([axis]), context.int("keepdims") !== 0))];
    },
    axes(context) {
      const axes = context.axesOf(0);
      if (axes === undefined) return context.blockAll("has operands of unknown sizes");
      const at = normalizeAxis(context.int("axis") ?? 0, axes.length);
      context.takeTrue(0, at, "compares along it");
      context.setAxes(
        0,
        context.int("keepdims") === 0 ? axes.toSpliced(at, 1) : axes.with(at, context.solver.atom(1)),
      );
    },
    lanes: () => finiteLane,
    work: (context) => axisWork(context, 0),
  });
}

export const argOps: readonly OpDefinition[] = [argOp("ArgMax"), argOp("ArgMin")];

export const topK = defineOp({
  domain: "",
  type: "TopK",
  traits: {
    elements: "chosen",
    half: half(1, 24),
    layout: "fixed",
    sameSince: 11,
    uses: { 1: { kind: "count" } },
    decides: (node) => placeAlong(node, 1, -1),
  },
  infer(context) {
    const { dtype, shape } = tensorAt(context, 0);
    if (shape === undefined) return [tensor(dtype, undefined), tensor("int64", undefined)];
    const axis = normalizeAxis(context.int("axis") ?? -1, shape.length);
    const count = countOf(context);
    const available = shape[axis];
    if (typeof count === "number" && typeof available === "number" && (count < 0 || count > available)) {
      throw new ShapeError(textOf`k is ${count}, expected at most the ${available} elements of axis ${axis}`);
    }
    const result = withSize(shape, axis, count);
    return [tensor(dtype, result), tensor("int64", result)];
  },
  axes(context) {
    const at = normalizeAxis(context.int("axis") ?? -1, tensorAt(context, 0).shape?.length ?? 1);
    const axes = axesBesideTrue(context, (axis) => axis !== at, "compares along it");
    for (const output of [0, 1]) if (axes !== undefined) context.setAxes(output, axes);
  },
  lanes: finiteLanes,
  work: (context) => axisWork(context, -1),
});

function placeAlong(node: Node, output: number, defaultAxis: number): Decision {
  const axis = intAttributeOf(node, "axis") ?? defaultAxis;
  return { kind: "place", output, axis, inOrder: intAttributeOf(node, "sorted") !== 0 };
}

/** An attribute before opset 10, an input since. */
function countOf(context: OpContext): Dim {
  const count = context.opset < 10 ? context.int("k") : elementsAt(context, 1)?.[0];
  return count ?? unknownDim();
}

function axisWork(context: WorkContext, defaultAxis: number) {
  const shape = tensorAt(context, 0).shape;
  if (shape === undefined) return undefined;
  const axis = normalizeAxis(context.int("axis") ?? defaultAxis, shape.length);
  return rowTraffic(context, "reduction", ...rowsAndColumns(shape, new Set([axis])));
}
