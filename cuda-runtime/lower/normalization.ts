/** @file Normalizations: over rows, groups of channels, chosen axes, neighbouring channels. */

import { elementCount, permuted, reshaped } from "../ir/view.ts";
import { emitAxesNorm, emitLrn } from "../kernels/norm/axes.ts";
import type { Lower, LowerContext, LowerTable } from "./context.ts";
import { axisAttribute, axisOf, keptOrder } from "./movement-arguments.ts";
import { lowerGroups } from "./normalization-groups.ts";
import { FloatOutputs, floatInput } from "./normalization-outputs.ts";
import { lowerRows } from "./normalization-rows.ts";
import { softmaxLowerings } from "./normalization-softmax.ts";

/** Where an operator has its inputs and outputs; undefined for what it does not have. */
interface RowPlaces {
  readonly scale: number;
  readonly bias?: number;
  readonly skip?: number;
  readonly skipBias?: number;
  readonly mean?: number;
  readonly invStd?: number;
  readonly sum?: number;
  readonly isRms: boolean;
}

function rowNorm(places: RowPlaces): Lower {
  return (context) => {
    const x = context.input(0);
    const first = places.skip === undefined ? axisAttribute(context, -1, x.shape.length) : x.shape.length - 1;
    if (first < 0 || first >= x.shape.length)
      context.fail(`axis is outside a tensor of rank ${x.shape.length}`);
    const given = (index: number | undefined) =>
      index !== undefined && context.hasInput(index) ? context.input(index) : undefined;
    const wanted = (index: number | undefined) => index !== undefined && context.hasOutput(index);
    const { sum, mean, invStd } = places;
    const skipBias = given(places.skipBias);
    const outputs = new FloatOutputs(context);
    lowerRows(context, {
      x,
      first,
      skip: given(places.skip),
      skipBias,
      scale: given(places.scale),
      bias: given(places.bias),
      isRms: places.isRms,
      epsilon: context.float("epsilon") ?? defaultEpsilon(context),
      output: (order) => outputs.at(0, order),
      codes: context.codesBehind(0),
      sum: sum !== undefined && wanted(sum) ? (order) => outputs.at(sum, order) : undefined,
      mean: mean !== undefined && wanted(mean) ? outputs.at(mean) : undefined,
      invStd: invStd !== undefined && wanted(invStd) ? outputs.at(invStd) : undefined,
    });
    outputs.done();
  };
}

/** Microsoft's operators for skipped connections keep variances of zero further away from the division. */
function defaultEpsilon({ node }: LowerContext): number {
  return node.opType.startsWith("Skip") ? 1e-12 : 1e-5;
}

/** Parameters are those of groups before opset 21, of channels since. */
const groupNormalization: Lower = (context) => {
  const channels = context.inputShape(0)[1] ?? 1;
  const groups = context.int("num_groups") ?? context.fail("the attribute num_groups is missing");
  if (groups < 1 || channels % groups !== 0) context.fail(`${channels} channels are not ${groups} groups`);
  const outputs = new FloatOutputs(context);
  lowerGroups(context, {
    x: () => context.input(0),
    groups,
    scale: context.input(1),
    bias: context.input(2),
    isParameterPerGroup: elementCount(context.inputShape(1)) === groups && groups !== channels,
    epsilon: context.float("epsilon") ?? 1e-5,
    isSilu: false,
    output: (order) => outputs.at(0, order),
  });
  outputs.done();
};

const instanceNormalization: Lower = (context) => {
  const outputs = new FloatOutputs(context);
  lowerGroups(context, {
    x: () => context.input(0),
    groups: context.inputShape(0)[1] ?? 1,
    scale: context.input(1),
    bias: context.input(2),
    isParameterPerGroup: false,
    epsilon: context.float("epsilon") ?? 1e-5,
    isSilu: false,
    output: (order) => outputs.at(0, order),
  });
  outputs.done();
};

/** X [N,H,W,C] unless channels_last is 0; activation 1 is SiLU. */
const microsoftGroupNorm: Lower = (context) => {
  const rank = context.inputShape(0).length;
  const isChannelsLast = (context.int("channels_last") ?? 1) !== 0;
  const activation = context.int("activation") ?? 0;
  if (activation !== 0 && activation !== 1) context.fail(`activation is ${activation}, expected 0 or 1`);
  const toFirst = isChannelsLast ? [0, rank - 1, ...range(1, rank - 1)] : range(0, rank);
  const x = permuted(context.input(0), toFirst);
  const groups = context.int("groups") ?? context.fail("the attribute groups is missing");
  if (groups < 1 || (x.shape[1] ?? 1) % groups !== 0)
    context.fail(`${x.shape[1]} channels are not ${groups} groups`);
  const outputs = new FloatOutputs(context);
  lowerGroups(context, {
    x: () => x,
    groups,
    scale: context.input(1),
    bias: context.input(2),
    isParameterPerGroup: false,
    epsilon: context.float("epsilon") ?? 1e-5,
    isSilu: activation === 1,
    output: (order) => {
      const view = outputs.at(
        0,
        order?.map((axis) => toFirst[axis] ?? axis),
      );
      return permuted(view, toFirst);
    },
  });
  outputs.done();
};

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

const meanVariance: Lower = (context) => {
  const rank = context.inputShape(0).length;
  const axes = (context.ints("axes") ?? [0, 2, 3]).map((axis) => axisOf(axis, rank));
  lowerAxes(context, new Set(axes), "meanVariance");
};

const lpNormalization: Lower = (context) => {
  const p = context.int("p") ?? 2;
  if (p !== 1 && p !== 2) context.fail(`p is ${p}, expected 1 or 2`);
  const axis = axisAttribute(context, -1, context.inputShape(0).length);
  lowerAxes(context, new Set([axis]), p === 1 ? "l1" : "l2");
};

function lowerAxes(
  context: LowerContext,
  axes: ReadonlySet<number>,
  mode: "meanVariance" | "l1" | "l2",
): void {
  const x = floatInput(context, 0);
  const outputs = new FloatOutputs(context);
  emitAxesNorm(context, { x, y: outputs.at(0, keptOrder(x)), axes, mode });
  outputs.done();
}

const localResponse: Lower = (context) => {
  const given = floatInput(context, 0);
  const outputs = new FloatOutputs(context);
  const [samples = 1, channels = 1, ...spatial] = given.shape;
  const shape = [samples, channels, elementCount(spatial)];
  const order = keptOrder(given);
  const x = reshaped(given, shape) ?? reshaped(context.packed(given), shape);
  const y = reshaped(outputs.at(0, order), shape);
  const size = context.int("size") ?? context.fail("the attribute size is missing");
  if (x === undefined || y === undefined) return context.fail("has positions that cannot be merged");
  emitLrn(context, {
    x,
    y,
    size,
    alpha: context.float("alpha") ?? 1e-4,
    beta: context.float("beta") ?? 0.75,
    bias: context.float("bias") ?? 1,
  });
  outputs.done();
};

const simplified = rowNorm({ scale: 1, invStd: 1, isRms: true });

export const normalizationLowerings: LowerTable = {
  ...softmaxLowerings,
  LayerNormalization: rowNorm({ scale: 1, bias: 2, mean: 1, invStd: 2, isRms: false }),
  "com.microsoft::LayerNormalization": rowNorm({ scale: 1, bias: 2, mean: 1, invStd: 2, isRms: false }),
  RMSNormalization: rowNorm({ scale: 1, isRms: true }),
  SimplifiedLayerNormalization: simplified,
  "com.microsoft::SimplifiedLayerNormalization": simplified,
  "com.microsoft::SkipLayerNormalization": rowNorm({
    skip: 1,
    scale: 2,
    bias: 3,
    skipBias: 4,
    mean: 1,
    invStd: 2,
    sum: 3,
    isRms: false,
  }),
  "com.microsoft::SkipSimplifiedLayerNormalization": rowNorm({
    skip: 1,
    scale: 2,
    skipBias: 3,
    mean: 1,
    invStd: 2,
    sum: 3,
    isRms: true,
  }),
  GroupNormalization: groupNormalization,
  "com.microsoft::GroupNorm": microsoftGroupNorm,
  InstanceNormalization: instanceNormalization,
  MeanVarianceNormalization: meanVariance,
  LpNormalization: lpNormalization,
  LRN: localResponse,
};
