/** @file ConvTranspose: X [N,C,spatial…] with W [C,M/group,spatial…] gives the larger output. */

import { addDims, type Dim, maxDims, mulDims, type Shape, subDims, unknownDim } from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import { defineOp, type OpContext, type OpDefinition, ShapeError } from "../op.ts";
import { tensor, tensorAt } from "../shape.ts";
import { computes, half, type Traits } from "../traits.ts";
import { resolveWindow, type Window, windowExtent } from "../window.ts";
import { type ConvPlaces, convAxes, convLane } from "./conv-axes.ts";
import {
  biasLength,
  type ConvGeometry,
  channelsSecond,
  convOutputShape,
  convWork,
  groupsOf,
  kernelOf,
  type Layout,
  requireDivisible,
  spatialOf,
  spatialRankOf,
} from "./conv-geometry.ts";
import { dimAt, sharedOr, sharedType } from "./operands.ts";

export function convTransposeOp(domain: string, layout: Layout, traits: Traits): OpDefinition {
  return defineOp({
    domain,
    type: "ConvTranspose",
    traits,
    product: true,
    infer: (context) => [tensor(operandType(context), convOutputShape(geometryOf(context, layout)))],
    work: (context) => convWork(geometryOf(context, layout), operandType(context)),
    axes(context) {
      const stated = context.ints("output_shape")?.length ?? 0;
      const places = placesIn(context, layout);
      const spatialRank = (tensorAt(context, 1).shape?.length ?? 2) - 2;
      if (stated > spatialRank) context.blockAll("states the size of its output");
      else convAxes(context, places);
    },
    lanes: (context) => convLane(context, placesIn(context, layout)),
  });
}

export const convTranspose = convTransposeOp(
  "",
  "nchw",
  computes(half(1, 22), { layout: "channels", turnsToNhwc: true, sameSince: 11, scale: "weight-second" }),
);

function placesIn(context: OpContext, layout: Layout): ConvPlaces {
  const rank = tensorAt(context, 1).shape?.length ?? 0;
  return { channels: layout === "nhwc" ? rank - 1 : 1, grouped: 0, single: 1, transposed: true, bias: 2 };
}

function operandType(context: OpContext) {
  return sharedType("X and W", tensorAt(context, 0), tensorAt(context, 1));
}

function geometryOf(context: OpContext, layout: Layout): ConvGeometry | undefined {
  const x = channelsSecond(tensorAt(context, 0).shape, layout === "nhwc");
  const w = tensorAt(context, 1).shape;
  const spatialRank = spatialRankOf(context, x, w);
  if (spatialRank === undefined) return undefined;
  const groups = groupsOf(context);
  const channels = sharedOr("channels of X and W", dimAt(x, 1), dimAt(w, 0));
  requireDivisible("channels", channels, groups);
  const filters = filtersOf(context, w, groups);
  const window = resolveWindow(context, spatialRank, kernelOf(context, w, spatialRank));
  const input = spatialOf(x, spatialRank);
  const output = transposedOutputs(context, window, input);
  const batch = dimAt(x, 0) ?? unknownDim();
  return { batch, channels, filters, groups, input, output, window, layout, transposed: true };
}

function filtersOf(context: OpContext, w: Shape | undefined, groups: number): Dim {
  const perGroup = dimAt(w, 1);
  const fromWeights = perGroup === undefined ? undefined : mulDims(perGroup, groups);
  return sharedOr("filters of W and bias", fromWeights, biasLength(tensorAt(context, 2)));
}

/** The attribute output_shape decides alone; some exporters write batch and channels in front of it. */
function transposedOutputs(context: OpContext, window: Window, input: readonly Dim[]): readonly Dim[] {
  const stated = context.ints("output_shape") ?? [];
  const extra = context.ints("output_padding") ?? [];
  if ([...stated, ...extra].some((size) => size < 0)) {
    throw new ShapeError("output_shape and output_padding must not be negative");
  }
  if (stated.length === input.length) return stated;
  if (stated.length === input.length + 2) return stated.slice(2);
  if (stated.length > 0) {
    throw new ShapeError(textOf`output_shape has ${stated.length} entries, expected ${input.length}`);
  }
  if (extra.length > 0 && extra.length !== input.length) {
    throw new ShapeError(textOf`output_padding has ${extra.length} entries, expected ${input.length}`);
  }
  return input.map((size, axis) => transposedOutput(window, axis, size, extra[axis] ?? 0));
}

function transposedOutput(window: Window, axis: number, size: Dim, extra: number): Dim {
  const stride = window.strides[axis] ?? 1;
  const extent = windowExtent(window.kernel[axis] ?? 1, window.dilations[axis] ?? 1);
  const pads = totalPads(window, axis, addDims(extent, extra - stride));
  const output = subDims(addDims(addDims(mulDims(subDims(size, 1), stride), extra), extent), pads);
  if (typeof output === "number" && output < 0) {
    throw new ShapeError(textOf`pads ${pads} remove more than the output of spatial axis ${axis} has`);
  }
  return output;
}

/** SAME_* removes what goes beyond input × stride: `excess`, if that is anything. */
function totalPads(window: Window, axis: number, excess: Dim): Dim {
  if (window.autoPad === "VALID") return 0;
  if (window.autoPad === "NOTSET") return (window.padsBegin[axis] ?? 0) + (window.padsEnd[axis] ?? 0);
  return maxDims(excess, 0);
}
