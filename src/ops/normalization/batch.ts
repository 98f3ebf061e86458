/** @file BatchNormalization. */
import { intAttributeOf } from "../../ir/attributes.ts";
import { isUnknown, type Shape } from "../../ir/dim.ts";
import type { Node } from "../../ir/model.ts";
import { type AxisContext, type Lane, type LaneContext, unknownLane } from "../axes.ts";
import { failing, joinLanes, operandLane } from "../lanes.ts";
import { defineOp, type OpContext, type TensorFact } from "../op.ts";
import { tensor, tensorAt, unify } from "../shape.ts";
import { half } from "../traits.ts";
import { scaledLane, tieChannels } from "./channels.ts";
import { epsilonOf, isDivisor } from "./epsilon.ts";

/**
 * x [N, C, …]; scale, bias, mean and variance [C]. In inference a scale and a shift per channel.
 * Training outputs: running mean and variance, and before opset 14 the saved mean and variance.
 */
export const batchNormalization = defineOp({
  domain: "",
  type: "BatchNormalization",
  traits: {
    elements: "computed",
    half: half(1, 14),
    layout: "channels",
    turnsToNhwc: true,
    sameSince: 15,
    sameIf: { since: 9, applies: infers },
  },
  infer(context) {
    const { dtype, shape } = tensorAt(context, 0);
    const statistics = [statistic(context, 3), statistic(context, 4)];
    return [
      tensor(dtype, channelsOf(context, shape)),
      ...statistics,
      ...(context.opset < 14 ? statistics : []),
    ];
  },
  axes: batchAxes,
  lanes: batchLane,
  traffic: "elementwise",
  pass: "batchnorm_nchw",
});

/** Before 14 more outputs meant training, and then a mode does. */
function infers(node: Node): boolean {
  const isSingle = node.outputs.filter((each) => each !== undefined).length === 1;
  return isSingle && (intAttributeOf(node, "training_mode") ?? 0) === 0;
}

/** Parameters of one channel each: padded ones scale and shift by 0, and divide by the root of 1. */
function batchAxes(context: AxisContext): void {
  const axes = context.axesOf(0);
  if (axes === undefined || isTraining(context) || context.int("spatial") === 0) {
    return context.blockAll("takes statistics");
  }
  tieChannels(context, axes[1], [1, 2, 3, 4]);
  for (const axis of context.axesOf(4) ?? []) context.fill(4, axis, 1);
  context.setAxes(0, axes);
}

/** Several outputs say so, and before opset 7 a lack of `is_test`. */
function isTraining(context: OpContext): boolean {
  if (context.opset < 7 && context.int("is_test") !== 1) return true;
  return context.outputCount > 1 || (context.int("training_mode") ?? 0) !== 0;
}

/** A computed variance may be anything in padded lanes; one without the atom divides true lanes as well. */
function batchLane(context: LaneContext): Lane {
  const [mean, variance] = [operandLane(context, 3), operandLane(context, 4)];
  const known = variance.kind === "constant" && isDivisor(context, variance.value + epsilonOf(context));
  if (!known && context.laneOf(4) !== undefined) return unknownLane;
  const scaled = scaledLane(context);
  return mean.kind === "unknown" ? unknownLane : failing(scaled, joinLanes([scaled, mean, variance]).fails);
}

function statistic(context: OpContext, index: number): TensorFact {
  const { dtype, shape } = tensorAt(context, index);
  return tensor(dtype ?? tensorAt(context, 0).dtype, shape);
}

/** The parameters tell the channels where the input does not. */
function channelsOf(context: OpContext, shape: Shape | undefined): Shape | undefined {
  // spatial = 0, allowed before opset 9, gives every position its own parameters.
  if (shape === undefined || context.int("spatial") === 0) return shape;
  let channels = shape[1];
  for (const [index, name] of ["", "scale", "bias", "mean", "variance"].entries()) {
    const size = name === "" ? undefined : tensorAt(context, index).shape?.[0];
    if (channels === undefined || size === undefined || isUnknown(size)) continue;
    channels = unify(channels, size, `channels of the input and of ${name}`);
  }
  return shape.map((size, axis) => (axis === 1 ? (channels ?? size) : size));
}
