/** @file Axes and padded lanes of normalizations with a scale and a shift. */
import { type Axis, paddedSize } from "../../ir/axis.ts";
import {
  type AxisContext,
  blockAxes,
  type Lane,
  type LaneContext,
  passBesideTrue,
  unknownLane,
} from "../axes.ts";
import { finiteIfKnown, mixLanes, multiplyLanes, normalized, operandLane } from "../lanes.ts";
import { epsilonOf, isDivisor } from "./epsilon.ts";

/** Parameters, inputs `indices`, have one element for each of `channels`. */
export function tieChannels(
  context: AxisContext,
  channels: Axis | undefined,
  indices: readonly number[],
): void {
  for (const index of indices) {
    for (const axis of context.axesOf(index) ?? []) {
      if (channels === undefined) context.block(axis, "has no channels for it");
      else context.solver.unify(channels, axis, "channels and their parameters differ in structure");
    }
  }
}

/** Scale, input 1, and shift, input 2, of something that is finite for finite lanes. */
export function scaledLane(context: LaneContext, of: (input: Lane) => Lane = (input) => input): Lane {
  const input = of(finiteIfKnown(operandLane(context, 0)));
  const [scale, shift] = [operandLane(context, 1), operandLane(context, 2)];
  return mixLanes([multiplyLanes(input, scale), shift]);
}

/** The same, of rows divided by the root of their own variance. */
export function rowScaledLane(context: LaneContext): Lane {
  return isDivisor(context, epsilonOf(context)) ? scaledLane(context, normalized) : unknownLane;
}

/** Axes from `first` on are normalized; parameters and statistics go with them. */
export function rowAxes(context: AxisContext, first: number, parameters: readonly number[]): void {
  const verb = "normalizes over it";
  passBesideTrue(context, (axis) => axis < first, verb);
  for (const index of parameters) blockAxes(context, index, (context.axesOf(index) ?? []).keys(), verb);
}

/** Statistics of the rows, in `outputs`: normalized axes are single elements. */
export function statisticsAxes(context: AxisContext, first: number, outputs: readonly number[]): void {
  const axes = context.axesOf(0);
  if (axes === undefined) return;
  const kept = axes.map((axis, at) => (at < first ? axis : context.solver.atom(1)));
  for (const index of outputs) context.setAxes(index, kept);
}

/** Channels are groups × channels of one group; the latter are normalized together, a new group stands alone. */
export function groupAxes(context: AxisContext, groups: number, parametersByGroup: boolean): void {
  const axes = context.axesOf(0);
  const channels = axes?.[1];
  const parts = channels === undefined ? undefined : context.solver.split(channels, groups);
  if (axes === undefined || parts === undefined)
    return context.blockAll("has channels that are not its groups");
  const [count, perGroup] = parts;
  context.block(perGroup, "normalizes over it");
  blockAxes(context, 0, [...axes.keys()].slice(2), "normalizes over it");
  tieChannels(context, parametersByGroup ? count : channels, [1, 2]);
  context.rewriteAttribute("num_groups", (sizes) => paddedSize(count, sizes));
  context.setAxes(0, axes);
}
