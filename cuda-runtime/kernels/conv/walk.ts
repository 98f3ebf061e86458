/** @file What conv-tma.cu is launched with: TMA walks through the image for the rows of a product. */
import { noActivation } from "../../ir/epilogue.ts";
import { writeParams } from "../../ir/param-table.ts";
import type { ParamBlock, TensorMap } from "../../ir/params.ts";
import type { View } from "../../ir/view.ts";
import { fitsImageWalk, imageWalkOf, type WalkAxis } from "../common/image-walk.ts";
import { convTmaStruct } from "../conv-tma/params.table.ts";
import { copiesEnds, endFieldsOf } from "../gemm/end-maps.ts";
import { gemmFields } from "../gemm/params.ts";
import type { Operand, Problem, Target } from "../gemm/problem.ts";
import type { ConvFields, Window } from "./params.ts";
import { isWalkable, positionStride, type Spatial, type Triple } from "./spatial.ts";
import { channelsOfBox, type Walk } from "./table.ts";

/** Whether TMA's fields hold the walk, and positions of y (and of what is added to it) follow each other by one stride. */
export function canWalk(window: Window, x: Spatial, outputs: readonly Spatial[]): boolean {
  const [y] = outputs;
  if (y === undefined || outputs.some((output) => positionStride(output) === 0)) return false;
  return fitsImageWalk(walkAxes(window, x.size, y.size)) && isWalkable(x);
}

/** From the innermost on; depth where there is one. */
function spatialAxes({ kernel }: Window, size: Triple): readonly number[] {
  return kernel[0] > 1 || size[0] > 1 ? [2, 1, 0] : [2, 1];
}

function at(values: readonly number[], axis: number): number {
  return values[axis] ?? 1;
}

function walkAxes(window: Window, input: Triple, output: Triple): WalkAxis[] {
  return spatialAxes(window, input).map((axis) => ({
    ...{ input: at(input, axis), output: at(output, axis), taps: at(window.kernel, axis) },
    ...{ stride: at(window.stride, axis), dilation: at(window.dilation, axis), pad: at(window.pad, axis) },
  }));
}

/** Whether its tiles go out by TMA. */
export function copiesEndsOfWalk(fields: ConvFields, { product }: Walk): boolean {
  return copiesEnds(productOf(fields, product.k), product);
}

/** Of the product's launch. `fields.x` has the channels of all groups side by side, at multiples of 16 bytes. */
export function walkParams(fields: ConvFields, walk: Walk): ParamBlock {
  const { x, w, y, window, channels, filters } = fields;
  const { product } = walk;
  const axes = spatialAxes(window, x.size);
  const channelsInBox = channelsOfBox(walk);
  const boxesOfTap = Math.ceil(channels / channelsInBox);
  const [taps, pitch] = [window.kernel[0] * window.kernel[1] * window.kernel[2], at(w.shape, 1)];
  const problem = productOf(fields, Math.ceil((taps * boxesOfTap) / walk.panels) * product.k);
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
      ahead: fields.isWeight ? "b" : undefined,
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
    walk: imageWalkOf(walkAxes(window, x.size, y.size)),
  };
}

/** Rows are positions; the sums of splits go out as they are. */
export function productOf(
  { x, w, y, residual, epilogue, partial, rows, filters }: ConvFields,
  k: number,
): Problem {
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
