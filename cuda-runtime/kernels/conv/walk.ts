/** @file What conv-tma.cu is launched with: TMA walks through the image for the rows of a product. */
import { noActivation } from "../../ir/epilogue.ts";
import { writeParams } from "../../ir/param-table.ts";
import type { ImageWalk, ParamBlock, TensorMap } from "../../ir/params.ts";
import type { View } from "../../ir/view.ts";
import { convTmaStruct } from "../conv-tma/params.table.ts";
import { copiesEnds, endFieldsOf } from "../gemm/end-maps.ts";
import { gemmFields } from "../gemm/params.ts";
import type { Operand, Problem, Target } from "../gemm/problem.ts";
import type { ConvFields, Window } from "./params.ts";
import { positionStride, type Spatial, type Triple } from "./spatial.ts";
import { channelsOfBox, type Walk } from "./table.ts";

/** PTX ISA, "im2col mode": how far the corners of the walk and the offsets of a tap reach, by the number of spatial axes. */
const reaches = { 2: { corner: 128, tap: 255 }, 3: { corner: 16, tap: 31 } } as const;
const mostStride = 8;

/** Whether TMA's fields hold the walk, and positions of y (and of what is added to it) follow each other by one stride. */
export function canWalk(window: Window, x: Spatial, outputs: readonly Spatial[]): boolean {
  const [y] = outputs;
  if (y === undefined || outputs.some((output) => positionStride(output) === 0)) return false;
  const axes = spatialAxes(window, x);
  const { corner, tap } = reaches[axes.length === 3 ? 3 : 2];
  const { lower, upper } = walkOf(window, x.size, y.size, axes);
  const isNear = [...lower, ...upper].every((at) => at >= -corner && at < corner);
  return (
    isNear &&
    axes.every((axis) => at(window.stride, axis) <= mostStride && reachOf(window, axis) <= tap) &&
    [x.batchStride, ...x.strides].every((stride, axis) => stride > 0 || at([x.batch, ...x.size], axis) === 1)
  );
}

/** From the innermost on; depth where there is one. */
function spatialAxes({ kernel }: Window, x: Spatial): readonly number[] {
  return kernel[0] > 1 || x.size[0] > 1 ? [2, 1, 0] : [2, 1];
}

function reachOf({ kernel, dilation }: Window, axis: number): number {
  return (at(kernel, axis) - 1) * at(dilation, axis);
}

function at(values: readonly number[], axis: number): number {
  return values[axis] ?? 1;
}

function walkOf({ stride, pad }: Window, input: Triple, output: Triple, axes: readonly number[]): ImageWalk {
  const lower = axes.map((axis) => -at(pad, axis));
  return {
    lower,
    upper: axes.map(
      (axis) => at(stride, axis) * (at(output, axis) - 1) - at(pad, axis) - (at(input, axis) - 1),
    ),
    strides: axes.map((axis) => at(stride, axis)),
  };
}

/** Whether its tiles go out by TMA. */
export function copiesEndsOfWalk(fields: ConvFields, { product }: Walk): boolean {
  return copiesEnds(problemOf(fields, product.k), product);
}

/** Of the product's launch. `fields.x` has the channels of all groups side by side, at multiples of 16 bytes. */
export function walkParams(fields: ConvFields, walk: Walk): ParamBlock {
  const { x, w, y, window, channels, filters } = fields;
  const { product } = walk;
  const axes = spatialAxes(window, x);
  const channelsInBox = channelsOfBox(walk);
  const boxesOfTap = Math.ceil(channels / channelsInBox);
  const [taps, pitch] = [window.kernel[0] * window.kernel[1] * window.kernel[2], at(w.shape, 1)];
  const problem = problemOf(fields, Math.ceil((taps * boxesOfTap) / walk.panels) * product.k);
  return writeParams(convTmaStruct, {
    x: imageMap(fields, walk, axes),
    w: {
      view: w,
      sizes: [channels, taps, filters],
      strides: [pitch / taps, pitch],
      box: [channelsInBox, 1, product.n],
    },
    ...endFieldsOf(problem, product),
    p: gemmFields({
      problem,
      tilesM: Math.ceil(fields.rows / product.m),
      tilesN: fields.tilesOfFilters,
      splits: fields.splits,
      kPerSplit: fields.chunksPerSplit * 8,
      splitStride: fields.partial === undefined ? 0 : fields.rows * at(fields.partial.shape, 3),
      aGrain: 16,
      bGrain: 16,
    }),
    channels: x.channels,
    channelsOfGroup: channels,
    filtersOfGroup: fields.filtersOfGroup,
    taps,
    boxesOfTap,
    kernel: window.kernel,
    output: y.size,
    stride: window.stride,
    dilation: window.dilation,
    pad: window.pad,
    isVolume: axes.length === 3,
  });
}

/** Axes of one element have a stride of no matter, but a valid one. */
function imageMap({ x, y, window }: ConvFields, walk: Walk, axes: readonly number[]): TensorMap {
  const unit = Math.ceil(x.channels / 8) * 8;
  const strides = [...axes.map((axis) => x.strides[axis] ?? 0), x.batchStride];
  return {
    view: x.view,
    sizes: [x.channels, ...axes.map((axis) => at(x.size, axis)), x.batch],
    strides: strides.map((stride) => (stride === 0 ? unit : stride)),
    box: [channelsOfBox(walk), walk.product.m],
    walk: walkOf(window, x.size, y.size, axes),
  };
}

/** Rows are positions; the sums of splits go out as they are. */
function problemOf({ x, w, y, residual, epilogue, partial, rows, filters }: ConvFields, k: number): Problem {
  const operand = (view: View): Operand => ({ view, outer: k, k: 1, batch: [] });
  const target = (of: Spatial): Target => ({
    view: of.view,
    m: positionStride(of),
    n: of.channelStride,
    batch: [],
  });
  const product = { m: rows, n: filters, k, batch: [], a: operand(x.view), b: operand(w) };
  const plain = { channels: "n", alpha: 1, first: noActivation, last: noActivation } as const;
  if (partial !== undefined) {
    const d = { view: partial, m: at(partial.shape, 3), n: 1, batch: [] };
    return { ...product, ...plain, d, residual: undefined, scale: undefined, bias: undefined };
  }
  return {
    ...product,
    ...plain,
    d: target(y),
    residual: residual && target(residual),
    scale: epilogue.scale,
    bias: epilogue.bias,
    first: epilogue.activation ?? noActivation,
    last: epilogue.last ?? noActivation,
  };
}
