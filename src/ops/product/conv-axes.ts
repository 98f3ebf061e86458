/**
 * @file Axes and padded lanes of convolutions.
 *
 * Channels are in = groups × Ci and out = groups × Co; Ci is summed over. Positions and taps stay as they are.
 */

import { activations, isActivation } from "../../ir/activations.ts";
import { type Axis, paddedSize, sizeOfAxis } from "../../ir/axis.ts";
import { maxOf } from "../../ir/lists.ts";
import {
  type AxisContext,
  blockAxes,
  broadcastOf,
  type Lane,
  type LaneContext,
  unknownLane,
} from "../axes.ts";
import { bounded, finiteIfKnown, mixLanes, productLane, zeroOrFinite } from "../lanes.ts";
import { addedLane } from "./matrix-axes.ts";

export interface ConvPlaces {
  /** Channel axis of X and Y. */
  readonly channels: number;
  /** Axes of W: groups × one side's channels, and the other side's channels of one group. */
  readonly grouped: number;
  readonly single: number;
  /** W's grouped axis has the input's channels (a transposed convolution), else the output's. */
  readonly transposed: boolean;
  readonly bias: number | undefined;
  /** Input that has the output's shape and is added to it. */
  readonly residual?: number | undefined;
}

const positions = "slides a window over it";

/** X, W and an optional bias, inputs 0, 1 and `bias`. */
export function convAxes(context: AxisContext, places: ConvPlaces): void {
  const [x, w, sizes] = [context.axesOf(0), context.axesOf(1), context.sizesOf(0)];
  const input = x?.[places.channels];
  const [batch] = x ?? [];
  if (w === undefined || sizes === undefined || input === undefined || batch === undefined) {
    return context.blockAll("has operands of unknown sizes");
  }
  blockAxes(context, 0, others(sizes.length, [0, places.channels]), positions);
  blockAxes(context, 1, others(w.length, [places.grouped, places.single]), "has taps along it");
  const output = channelsOf(context, input, w, places);
  const bias = places.bias === undefined ? undefined : context.axesOf(places.bias)?.[0];
  if (output === undefined) {
    if (bias !== undefined) context.block(bias, notApart);
    return context.blockAll(notApart);
  }
  if (bias !== undefined) context.solver.unify(output, bias, "the bias differs in structure");
  const axes = sizes.map((size, axis) => {
    if (axis === 0) return batch;
    return axis === places.channels ? output : context.fixed(size, positions);
  });
  const residual = places.residual === undefined ? undefined : context.axesOf(places.residual);
  context.setAxes(0, residual === undefined ? axes : broadcastOf(context, [axes, residual]));
}

const notApart = "has channels that do not come apart into its groups";

function others(rank: number, taken: readonly number[]): number[] {
  return [...Array(rank).keys()].filter((axis) => !taken.includes(axis));
}

/** Relates the channels; gives those of the output, or nothing where groups do not come apart. */
function channelsOf(
  context: AxisContext,
  input: Axis,
  w: readonly Axis[],
  { grouped, single, transposed }: ConvPlaces,
): Axis | undefined {
  const { solver } = context;
  const [outer, inner] = [w[grouped], w[single]];
  if (outer === undefined || inner === undefined) return undefined;
  const groups = context.int("group") ?? 1;
  const ofInput = solver.split(input, groups);
  const ofOuter = solver.split(outer, groups);
  if (ofInput === undefined || ofOuter === undefined) return undefined;
  const [count, perGroup] = ofInput;
  solver.unify(count, ofOuter[0], "groups differ in structure");
  const summed = transposed ? ofOuter[1] : inner;
  solver.unify(perGroup, summed, "channels differ in structure");
  if (sizeOfAxis(perGroup) > 1) context.contract(perGroup, 0, 1);
  if (groups > 1) passGroups(context, count, perGroup);
  return transposed ? solver.product([count, inner]) : outer;
}

/** Depthwise, a group is a channel; elsewhere a padded group would be a whole product more. */
function passGroups(context: AxisContext, count: Axis, perGroup: Axis): void {
  if (sizeOfAxis(perGroup) > 1) context.block(count, "counts groups of channels by it");
  else context.rewriteAttribute("group", (sizes) => paddedSize(count, sizes));
}

/** What the activation of a fused convolution makes of a lane. */
function activated(context: LaneContext, lane: Lane): Lane {
  const name = context.string("activation") ?? "";
  if (name === "") return lane;
  const { keepsZero, isBounded } = isActivation(name) ? activations[name] : unknownActivation;
  const active = keepsZero ? lane : finiteIfKnown(lane);
  return isBounded ? bounded(context, active) : active;
}

const unknownActivation = { keepsZero: false, isBounded: false };

/** Zero where the weights of an output channel are; the bias is added. */
export function convLane(context: LaneContext, places: ConvPlaces): Lane {
  const { channels, grouped, single, transposed, bias, residual } = places;
  const rank = Math.max(0, maxOf(context.axesOfOutput(0))) + 1;
  const weights = transposed
    ? ([
        [1, grouped],
        [1, single],
      ] as const)
    : ([[1, grouped]] as const);
  const sources = Array.from({ length: rank }, (_, axis) => {
    if (axis === 0) return [[0, 0]] as const;
    return axis === channels ? weights : [];
  });
  // A channel of its own group is multiplied by its weights, zero or not.
  const isGrouped = (context.int("group") ?? 1) > 1;
  if (isGrouped && context.laneOf(0)?.kind === "unknown") return unknownLane;
  const product = zeroOrFinite(productLane(context, sources));
  const added = [bias, residual].map((index) => addedLane(context, index));
  return activated(context, mixLanes([product, ...added]));
}
