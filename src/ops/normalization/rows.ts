/** @file Normalizations over whole trailing axes: Instance, Group, Layer and RMSNormalization. */

import { type Dim, floorDivDims, mulDims, product, type Shape } from "../../ir/dim.ts";
import { dtypeOfCode } from "../../ir/dtype.ts";
import { textOf } from "../../ir/message.ts";
import { blockAxes, sameAxes } from "../axes.ts";
import { type BodyKernel, defineOp, type OpContext, ShapeError, type WorkContext } from "../op.ts";
import { normalizeAxis, tensor, tensorAt } from "../shape.ts";
import { allKernels, laneKernel, rowKernel, rowTraffic } from "../traffic.ts";
import { half } from "../traits.ts";
import { groupAxes, rowAxes, rowScaledLane, statisticsAxes, tieChannels } from "./channels.ts";
import { normalizedLanes } from "./epsilon.ts";

/** x [N, C, …]: a row is one channel of one sample. */
export const instanceNormalization = defineOp({
  domain: "",
  type: "InstanceNormalization",
  traits: { elements: "computed", half: half(1, 22), layout: "channels", sameSince: 7 },
  infer(context) {
    const { dtype, shape } = tensorAt(context, 0);
    if (shape !== undefined) checkChannels(context, shape);
    return [tensor(dtype, shape)];
  },
  axes(context) {
    tieChannels(context, context.axesOf(0)?.[1], [1, 2]);
    blockAxes(context, 0, spatialAxes(context), "normalizes over it");
    sameAxes(context);
  },
  lanes: rowScaledLane,
  work(context) {
    const shape = tensorAt(context, 0).shape;
    return shape && rowTraffic(context, "normalization", product(shape.slice(0, 2)), product(shape.slice(2)));
  },
});

/** x [N, C, …]: a row is one group of channels of one sample. Parameters are [groups] before opset 21, [C] since. */
export const groupNormalization = defineOp({
  domain: "",
  type: "GroupNormalization",
  traits: { elements: "computed", half: half(21, 21), layout: "channels", sameSince: 21 },
  infer(context) {
    const { dtype, shape } = tensorAt(context, 0);
    const channels = shape?.[1];
    const groups = context.int("num_groups");
    if (groups === undefined) throw new ShapeError(textOf`the attribute num_groups is missing`);
    if (typeof channels === "number" && (groups < 1 || channels % groups !== 0)) {
      throw new ShapeError(textOf`num_groups is ${groups}, expected a divisor of the ${channels} channels`);
    }
    if (shape !== undefined && context.opset >= 21) checkChannels(context, shape);
    return [tensor(dtype, shape)];
  },
  axes: (context) => groupAxes(context, context.int("num_groups") ?? 1, context.opset < 21),
  // Before opset 21 a parameter is that of a whole group, which only a padded group has.
  lanes: rowScaledLane,
  work(context) {
    const [batch, groups, columns] = groupsOf(context) ?? [];
    if (batch === undefined || groups === undefined || columns === undefined) return undefined;
    return rowTraffic(context, "normalization", mulDims(batch, groups), columns);
  },
  body: groupBody,
});

/** The input as its groups are seen. */
function groupsOf(context: OpContext): readonly [batch: Dim, groups: number, columns: Dim] | undefined {
  const { shape } = tensorAt(context, 0);
  const groups = context.int("num_groups");
  if (shape === undefined || groups === undefined || groups < 1) return undefined;
  const [batch = 1, ...rest] = shape;
  return [batch, groups, floorDivDims(product(rest), groups)];
}

/** The variance as the mean of squares less the square of the mean; since opset 21 in the type of `stash_type`, before scale and shift. */
function groupBody(context: WorkContext): readonly BodyKernel[] | undefined {
  const x = tensorAt(context, 0);
  const sizes = groupsOf(context);
  if (x.shape === undefined || sizes === undefined) return undefined;
  const stash = context.opset < 21 ? x.dtype : dtypeOfCode(context.int("stash_type") ?? 1);
  const [batch, groups] = sizes;
  const [grouped, row] = [tensor(stash, sizes), tensor(stash, [batch, groups, 1])];
  const [, channels = 1, ...spatial] = x.shape;
  const byChannel = tensor(x.dtype, context.opset < 21 ? sizes : [batch, channels, product(spatial)]);
  const conversions = [
    laneKernel(tensor(stash, x.shape), x),
    laneKernel(byChannel, tensor(stash, byChannel.shape)),
  ];
  return allKernels([
    rowKernel(row, grouped),
    laneKernel(grouped, grouped),
    rowKernel(row, grouped),
    laneKernel(row, row),
    laneKernel(row, row, row),
    laneKernel(row, row),
    laneKernel(row, row),
    laneKernel(grouped, grouped, row),
    laneKernel(grouped, grouped, row),
    laneKernel(byChannel, byChannel),
    laneKernel(byChannel, byChannel),
    ...(stash === x.dtype ? [] : conversions),
  ]);
}

function checkChannels(context: OpContext, shape: Shape): void {
  const channels = shape[1];
  for (const index of [1, 2]) {
    const size = tensorAt(context, index).shape?.[0];
    if (typeof size === "number" && typeof channels === "number" && size !== channels) {
      throw new ShapeError(
        textOf`input ${index} has ${size} elements, expected one for each of ${channels} channels`,
      );
    }
  }
}

/** A row is everything from `axis` on. Mean and inverse deviation keep those axes at size 1. */
export const layerNormalization = defineOp({
  domain: "",
  type: "LayerNormalization",
  traits: {
    elements: "computed",
    half: half(17, 17, { outputs: { 1: "float", 2: "float" } }),
    layout: "fixed",
    sameSince: 17,
  },
  infer(context) {
    const { dtype, shape } = tensorAt(context, 0);
    // stash_type 1, the default, is float32.
    const stashType = dtypeOfCode(context.int("stash_type") ?? 1);
    if (shape === undefined) {
      return [tensor(dtype, shape), tensor(stashType, shape), tensor(stashType, shape)];
    }
    const axis = firstAxis(context, shape);
    const statistics = tensor(
      stashType,
      shape.map((size, at) => (at < axis ? size : 1)),
    );
    return [tensor(dtype, shape), statistics, statistics];
  },
  axes(context) {
    const first = firstAxis(context, tensorAt(context, 0).shape ?? [1]);
    rowAxes(context, first, [1, 2]);
    statisticsAxes(context, first, [1, 2]);
  },
  lanes: normalizedLanes,
  pass: "layernorm",
  work: (context) => rowTraffic(context, "normalization", ...rowsFrom(context)),
});

/** A row is everything from `axis` on. The result has the type of the scale. */
export const rmsNormalization = defineOp({
  domain: "",
  type: "RMSNormalization",
  traits: { elements: "computed", half: half(23, 23), layout: "fixed" },
  infer(context) {
    const { dtype, shape } = tensorAt(context, 0);
    if (shape !== undefined) firstAxis(context, shape);
    return [tensor(tensorAt(context, 1).dtype ?? dtype, shape)];
  },
  axes: (context) => rowAxes(context, firstAxis(context, tensorAt(context, 0).shape ?? [1]), [1]),
  lanes: normalizedLanes,
  work: (context) => rowTraffic(context, "normalization", ...rowsFrom(context)),
});

function spatialAxes(context: OpContext): number[] {
  return [...(tensorAt(context, 0).shape ?? []).keys()].slice(2);
}

function firstAxis(context: OpContext, shape: Shape): number {
  return normalizeAxis(context.int("axis") ?? -1, shape.length);
}

function rowsFrom(context: OpContext): readonly [rows: Dim | undefined, columns: Dim | undefined] {
  const { shape } = tensorAt(context, 0);
  if (shape === undefined) return [undefined, undefined];
  const axis = firstAxis(context, shape);
  return [product(shape.slice(0, axis)), product(shape.slice(axis))];
}
