/** @file MaxPool, AveragePool and LpPool: a window over spatial axes. */
import { hasAttribute, intAttributeOf, intsAttributeOf } from "../../ir/attributes.ts";
import type { Shape } from "../../ir/dim.ts";
import type { Node } from "../../ir/model.ts";
import { defineOp, type OpContext, type OpDefinition } from "../op.ts";
import { tensor, tensorAt, unknownShape } from "../shape.ts";
import { half, type Traits } from "../traits.ts";
import { resolveWindow, windowOutputs } from "../window.ts";
import { poolAxes, poolAxesWithPositions, poolLane } from "./axes.ts";

const averaging: Readonly<Record<string, Traits>> = {
  AveragePool: {
    elements: "computed",
    half: half(1, 22),
    layout: "channels",
    turnsToNhwc: true,
    sameSince: 22,
    sameIf: { since: 8, applies: (node) => !roundsUp(node) },
    scale: "first",
  },
  LpPool: {
    elements: "computed",
    half: half(1, 22, { risk: { kind: "sum", of: "squares", why: "a norm sums squares" } }),
    layout: "channels",
    sameSince: 18,
  },
};

/** x [N, C, …spatial] to [N, C, …positions]. MaxPool's second output holds the flat indices of the maxima. */
export const windowedPools: readonly OpDefinition[] = [
  defineOp({
    domain: "",
    type: "MaxPool",
    traits: {
      elements: "chosen",
      half: half(1, 22),
      layout: "channels",
      turnsToNhwc: true,
      sameSince: 22,
      sameIf: { since: 8, applies: (node) => !roundsUp(node) || !beginsInPadding(node) },
      scale: "first",
    },
    infer(context) {
      const shape = pooledShape(context);
      return [tensor(tensorAt(context, 0).dtype, shape), tensor("int64", shape)];
    },
    axes: poolAxesWithPositions,
    lanes: poolLane,
    traffic: "pool",
  }),
  ...Object.entries(averaging).map(([type, traits]) =>
    defineOp({
      domain: "",
      type,
      traits,
      infer: (context) => [tensor(tensorAt(context, 0).dtype, pooledShape(context))],
      axes: poolAxes,
      lanes: poolLane,
      traffic: "pool",
    }),
  ),
];

function pooledShape(context: OpContext): Shape | undefined {
  const { shape } = tensorAt(context, 0);
  const kernel = context.ints("kernel_shape");
  if (kernel === undefined) return shape && unknownShape(shape.length);
  if (shape === undefined) return unknownShape(kernel.length + 2);
  const window = resolveWindow(context, shape.length - 2, kernel);
  return [...shape.slice(0, 2), ...windowOutputs(window, shape.slice(2), context.int("ceil_mode") === 1)];
}

function roundsUp(node: Node): boolean {
  return (intAttributeOf(node, "ceil_mode") ?? 0) !== 0;
}

/**
 * Whether the last window, its size rounded up, may begin behind the image: what is said of such windows is newer, and an
 * average is divided otherwise.
 */
function beginsInPadding(node: Node): boolean {
  const kernel = intsAttributeOf(node, "kernel_shape") ?? [];
  const pads = intsAttributeOf(node, "pads") ?? [];
  const isPadded = pads.some((pad) => pad !== 0) || hasAttribute(node, "auto_pad");
  const strides = intsAttributeOf(node, "strides") ?? [];
  return strides.some((stride, axis) => stride > 1 && (isPadded || stride > (kernel[axis] ?? 0)));
}
