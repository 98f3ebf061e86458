/** @file Pools over windows, over whole images and over regions of interest, and the inverse of a maximum. */

import { isFloatStorage } from "../ir/storage.ts";
import { orderOf, permuted, type View } from "../ir/view.ts";
import { maxSpatialRank } from "../kernels/conv/spatial.ts";
import { emitGlobalPool, emitPool, type PoolKind } from "../kernels/pool/pool.ts";
import { emitRoiPool, emitUnpool } from "../kernels/pool/unpool-roi.ts";
import type { Lower, LowerContext, LowerTable } from "./context.ts";
import { slidingWindow } from "./conv-window.ts";

/** [N, …spatial, C] as [N, C, …spatial]. */
function channelsSecond(view: View, isLast: boolean): View {
  const rank = view.shape.length;
  const axes = Array.from({ length: rank - 2 }, (_, axis) => axis + 1);
  return isLast ? permuted(view, [0, rank - 1, ...axes]) : view;
}

function checkInput(context: LowerContext, { shape, type }: View, isMax: boolean): void {
  const spatialRank = shape.length - 2;
  if (spatialRank < 1 || spatialRank > maxSpatialRank) {
    context.fail(`has ${spatialRank} spatial axes; pools over 1 to ${maxSpatialRank} are supported`);
  }
  const isSupported =
    isFloatStorage(type) || type === "float64" || (isMax && (type === "int8" || type === "uint8"));
  if (!isSupported) {
    context.fail(`has an input of ${type}; floats are supported, and 8-bit integers for maxima`);
  }
}

/** A float output of the input's type and memory order. */
function outputLike(context: LowerContext, x: View): View {
  const home = x.type === context.outputType(0) ? context.homeInConcat(0, orderOf(x)) : undefined;
  const view = home ?? context.temporary(x.type, context.outputShape(0), orderOf(x));
  context.setOutput(0, view);
  return view;
}

function pool(kind: PoolKind, channelsLast = false): Lower {
  return (context) => {
    const given = context.input(0);
    const x = channelsSecond(given, channelsLast);
    checkInput(context, x, kind === "max");
    const kernel = context.ints("kernel_shape") ?? context.fail("the attribute kernel_shape is missing");
    const to = outputLike(context, given);
    const indices = context.hasOutput(1) ? context.output(1) : undefined;
    emitPool(context, {
      kind,
      x,
      to: channelsSecond(to, channelsLast),
      indices: indices && channelsSecond(indices, channelsLast),
      columnMajor: (context.int("storage_order") ?? 0) === 1,
      ...slidingWindow(context, kernel, x.shape.slice(2)),
      countPads: (context.int("count_include_pad") ?? 0) === 1,
      power: powerOf(context),
    });
  };
}

/** A float before opset 2. */
function powerOf(context: LowerContext): number {
  return context.int("p") ?? context.float("p") ?? 2;
}

function wholePool(kind: PoolKind, channelsLast = false): Lower {
  return (context) => {
    const given = context.input(0);
    const x = channelsSecond(given, channelsLast);
    checkInput(context, x, kind === "max");
    const to = channelsSecond(outputLike(context, given), channelsLast);
    emitGlobalPool(context, { kind, x, to, power: powerOf(context) });
  };
}

/** Indices count through the sizes that kernel, strides and pads give, whatever output_shape says. */
const maxUnpool: Lower = (context) => {
  const x = context.packed(context.input(0));
  if (x.shape.length - 2 > maxSpatialRank) context.fail("has more than 3 spatial axes");
  const kernel = context.ints("kernel_shape") ?? context.fail("the attribute kernel_shape is missing");
  const { strides, padsBegin, padsEnd } = slidingWindow(context, kernel, x.shape.slice(2));
  const spatial = kernel.map((taps, axis) => {
    const covered = ((x.shape[axis + 2] ?? 1) - 1) * (strides[axis] ?? 1) + taps;
    return covered - (padsBegin[axis] ?? 0) - (padsEnd[axis] ?? 0);
  });
  const to = context.temporary(x.type, context.outputShape(0));
  context.setOutput(0, to);
  emitUnpool(context, {
    x,
    indices: context.packed(context.input(1)),
    to,
    counted: [...x.shape.slice(0, 2), ...spatial],
  });
};

/** Before opset 16 coordinates were those of corners, and regions at least one element wide. */
const roiAlign: Lower = (context) => {
  const x = context.input(0);
  checkRegionInput(context, x);
  const mode =
    context.string("coordinate_transformation_mode") ??
    (context.opset >= 16 ? "half_pixel" : "output_half_pixel");
  const kind = context.string("mode") ?? "avg";
  if (kind !== "avg" && kind !== "max") context.fail(`has the mode ${kind}; avg and max are supported`);
  emitRoiPool(context, {
    entry: "pool_roi_align",
    x,
    regions: context.packed(context.input(1), { type: "float32" }),
    batches: context.packed(context.input(2), { type: "int64" }),
    to: outputLike(context, x),
    isMax: kind === "max",
    sampling: context.int("sampling_ratio") ?? 0,
    scale: context.float("spatial_scale") ?? 1,
    shift: mode === "half_pixel" ? 0.5 : 0,
    minOne: mode !== "half_pixel",
  });
};

const maxRoiPool: Lower = (context) => {
  const x = context.input(0);
  checkRegionInput(context, x);
  emitRoiPool(context, {
    entry: "pool_max_roi",
    x,
    regions: context.packed(context.input(1), { type: "float32" }),
    batches: undefined,
    to: outputLike(context, x),
    isMax: true,
    sampling: 0,
    scale: context.float("spatial_scale") ?? 1,
    shift: 0,
    minOne: false,
  });
};

function checkRegionInput(context: LowerContext, { shape, type }: View): void {
  if (shape.length !== 4) context.fail(`has an input of rank ${shape.length}; 4 is supported`);
  if (!isFloatStorage(type)) context.fail(`has an input of ${type}; floats are supported`);
}

export const poolingLowerings: LowerTable = {
  MaxPool: pool("max"),
  AveragePool: pool("average"),
  LpPool: pool("lp"),
  GlobalMaxPool: wholePool("max"),
  GlobalAveragePool: wholePool("average"),
  GlobalLpPool: wholePool("lp"),
  MaxUnpool: maxUnpool,
  RoiAlign: roiAlign,
  MaxRoiPool: maxRoiPool,
  "com.microsoft::NhwcMaxPool": pool("max", true),
  "com.ms.internal.nhwc::MaxPool": pool("max", true),
  "com.ms.internal.nhwc::AveragePool": pool("average", true),
  "com.ms.internal.nhwc::LpPool": pool("lp", true),
  "com.ms.internal.nhwc::GlobalMaxPool": wholePool("max", true),
  "com.ms.internal.nhwc::GlobalAveragePool": wholePool("average", true),
  "com.ms.internal.nhwc::GlobalLpPool": wholePool("lp", true),
};
