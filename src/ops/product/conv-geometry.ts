/**
 * @file The sizes of a convolution, from its operands and attributes, in either memory layout.
 *
 * Shapes are brought to [N, C, spatial…] for X and [M, C/group, spatial…] for W before anything is compared.
 */

import { type Dim, mulDims, type Shape, unknownDim } from "../../ir/dim.ts";
import type { DType } from "../../ir/dtype.ts";
import { textOf } from "../../ir/message.ts";
import { type OpContext, ShapeError, type TensorFact } from "../op.ts";
import { unify } from "../shape.ts";
import { resolveWindow, type Window, windowOutputs } from "../window.ts";
import type { ConvWork } from "../work.ts";
import { dimAt, multiplyType, sharedOr } from "./operands.ts";

export type Layout = ConvWork["layout"];

export interface ConvOperands {
  readonly x: TensorFact;
  readonly w: TensorFact;
  /** [M]; undefined where there is none. */
  readonly bias?: TensorFact | undefined;
  /** Of X and of the output. */
  readonly layout: Layout;
  /** Where W keeps its input channels: second as in ONNX, or last. */
  readonly weightChannels: "second" | "last";
}

/** As `ConvWork`, with the window that led to it; `channels` and `filters` count all groups. */
export interface ConvGeometry {
  readonly batch: Dim;
  readonly channels: Dim;
  readonly filters: Dim;
  readonly groups: number;
  readonly input: readonly Dim[];
  readonly output: readonly Dim[];
  readonly window: Window;
  readonly layout: Layout;
  readonly transposed: boolean;
}

/** Undefined where neither operand's rank is known. Throws where operands and attributes contradict each other. */
export function convGeometry(context: OpContext, operands: ConvOperands): ConvGeometry | undefined {
  const x = channelsSecond(operands.x.shape, operands.layout === "nhwc");
  const w = channelsSecond(operands.w.shape, operands.weightChannels === "last");
  const spatialRank = spatialRankOf(context, x, w);
  if (spatialRank === undefined) return undefined;
  const groups = groupsOf(context);
  const perGroup = dimAt(w, 1);
  const channels = sharedOr(
    `channels of X and W (group ${groups})`,
    dimAt(x, 1),
    perGroup === undefined ? undefined : mulDims(perGroup, groups),
  );
  const filters = sharedOr("filters of W and bias", dimAt(w, 0), biasLength(operands.bias));
  requireDivisible("channels", channels, groups);
  requireDivisible("filters", filters, groups);
  const window = resolveWindow(context, spatialRank, kernelOf(context, w, spatialRank));
  const input = spatialOf(x, spatialRank);
  const output = windowOutputs(window, input);
  const batch = dimAt(x, 0) ?? unknownDim();
  return {
    batch,
    channels,
    filters,
    groups,
    input,
    output,
    window,
    layout: operands.layout,
    transposed: false,
  };
}

/** [N, M, spatial…], or [N, spatial…, M]. Undefined where the geometry is. */
export function convOutputShape(geometry: ConvGeometry | undefined): Shape | undefined {
  if (geometry === undefined) return undefined;
  const { batch, filters, output, layout } = geometry;
  return layout === "nchw" ? [batch, filters, ...output] : [batch, ...output, filters];
}

export function convWork(
  geometry: ConvGeometry | undefined,
  dtype: DType | undefined,
): readonly ConvWork[] | undefined {
  const computeType = multiplyType(dtype);
  if (geometry === undefined || computeType === undefined) return undefined;
  const { window, ...sizes } = geometry;
  const { kernel, strides, dilations } = window;
  return [{ kind: "conv", ...sizes, kernel, strides, dilations, dtype: computeType }];
}

export function channelsSecond(shape: Shape | undefined, channelsLast: boolean): Shape | undefined {
  const channels = shape?.at(-1);
  const [first] = shape ?? [];
  if (shape === undefined || !channelsLast || channels === undefined || first === undefined) return shape;
  return [first, channels, ...shape.slice(1, -1)];
}

/** Spatial axes by whichever operand is known. */
export function spatialRankOf(
  context: OpContext,
  x: Shape | undefined,
  w: Shape | undefined,
): number | undefined {
  if (x !== undefined && w !== undefined && x.length !== w.length) {
    throw new ShapeError(textOf`X has rank ${x.length} and W rank ${w.length}, expected one rank`);
  }
  const rank = x?.length ?? w?.length;
  if (rank !== undefined && rank < 3) {
    throw new ShapeError(textOf`X and W have rank ${rank}, expected at least one spatial axis`);
  }
  return rank === undefined ? context.ints("kernel_shape")?.length : rank - 2;
}

/** The attribute kernel_shape and the weights must agree; either alone will do. */
export function kernelOf(context: OpContext, w: Shape | undefined, spatialRank: number): readonly Dim[] {
  const fromWeights = w?.slice(2);
  const stated = context.ints("kernel_shape") ?? [];
  if ([...stated, ...(fromWeights ?? [])].some((size) => typeof size === "number" && size < 1)) {
    throw new ShapeError(textOf`the kernel is ${fromWeights ?? stated}, expected positive sizes`);
  }
  if (stated.length === 0) return fromWeights ?? Array.from({ length: spatialRank }, unknownDim);
  if (fromWeights === undefined) return stated;
  if (stated.length !== fromWeights.length) {
    throw new ShapeError(
      textOf`kernel_shape has ${stated.length} entries, W has ${fromWeights.length} spatial axes`,
    );
  }
  return stated.map((size, axis) => unify(size, fromWeights[axis] ?? size, "kernel_shape and W"));
}

export function groupsOf(context: OpContext): number {
  const groups = context.int("group") ?? 1;
  if (groups < 1) throw new ShapeError(textOf`group is ${groups}, expected at least 1`);
  return groups;
}

export function requireDivisible(what: string, size: Dim, groups: number): void {
  if (typeof size === "number" && size % groups !== 0) {
    throw new ShapeError(textOf`${what}: ${size} is not divisible by group ${groups}`);
  }
}

export function biasLength(bias: TensorFact | undefined): Dim | undefined {
  return bias?.shape?.length === 1 ? bias.shape[0] : undefined;
}

export function spatialOf(x: Shape | undefined, spatialRank: number): readonly Dim[] {
  return x?.slice(2) ?? Array.from({ length: spatialRank }, unknownDim);
}
