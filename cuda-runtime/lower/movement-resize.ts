/** @file Resize and Upsample. */
import { maxOf, minOf } from "../../src/ir/lists.ts";
import type { Expr } from "../ir/expr.ts";
import { scalarOf } from "../ir/scalar.ts";
import { isFloatStorage, type StorageType } from "../ir/storage.ts";
import { orderOf, sliced, type View } from "../ir/view.ts";
import { emitSelect } from "../kernels/movement/select.ts";
import { widerRow } from "../kernels/resize/cost.ts";
import { emitResize, isResizedType, resizesAtOnce } from "../kernels/resize/resize.ts";
import {
  type CoordinateMode,
  coordinateModes,
  type Filter,
  type NearestMode,
  nearestModes,
  nearestTable,
  type ResizedAxis,
  type TapTable,
  tapTable,
} from "../kernels/resize/taps.ts";
import type { Lower, LowerContext, LowerTable } from "./context.ts";
import { allAxes, axisOf, givenElements, keptOrder, writeOutput, writePlaced } from "./movement-arguments.ts";

type Mode = "nearest" | Filter["mode"];

/** How the node samples; the same for all axes. */
interface Sampling {
  readonly mode: Mode;
  readonly nearest: NearestMode;
  readonly filter: Filter;
  readonly extrapolation: number;
}

/** Inputs: (X, scales) in opset 10, (X, roi, scales, sizes) from 11 on; of scales and sizes one is empty. */
const resize: Lower = (context) => {
  const shape = context.inputShape(0);
  const rank = shape.length;
  const given = context.opset < 18 ? undefined : context.ints("axes");
  const axes = (given ?? allAxes(rank)).map((axis) => axisOf(axis, rank));
  const isOld = context.opset < 11;
  const scales = givenElements(context, isOld ? 1 : 2);
  const sizes = isOld || scales !== undefined ? undefined : givenElements(context, 3);
  const sampling = samplingOf(context, isOld);
  const region = sampling.filter.coordinates === "tf_crop_and_resize" ? givenElements(context, 1) : undefined;
  const common = commonScale(context, axes, sizes);
  const resized = shape.map((size, axis): ResizedAxis => {
    const at = axes.indexOf(axis);
    const outputSize = context.outputShape(0)[axis] ?? 1;
    const scale = at < 0 ? 1 : (scales?.[at] ?? common ?? outputSize / size);
    return {
      size,
      outputSize,
      scale,
      region: at < 0 ? [0, 1] : [region?.[at] ?? 0, region?.[at + axes.length] ?? 1],
    };
  });
  emitSampled(context, resized, sampling);
};

/** The one factor that keeps the aspect ratio: nothing larger, or nothing smaller, than asked. */
function commonScale(
  context: LowerContext,
  axes: readonly number[],
  sizes: readonly number[] | undefined,
): number | undefined {
  const policy = context.string("keep_aspect_ratio_policy") ?? "stretch";
  if (sizes === undefined || policy === "stretch") return undefined;
  const factors = axes.map((axis, at) => (sizes[at] ?? 1) / (context.inputShape(0)[axis] ?? 1));
  return policy === "not_larger" ? minOf(factors) : maxOf(factors);
}

/** Scales are an attribute in opset 7 and input 1 in opset 9; coordinates and rounding are those of Resize 10. */
const upsample: Lower = (context) => {
  const scales = (context.opset < 9 ? context.floats("scales") : givenElements(context, 1)) ?? [];
  const resized = context.inputShape(0).map((size, axis): ResizedAxis => {
    const outputSize = context.outputShape(0)[axis] ?? 1;
    return { size, outputSize, scale: scales[axis] ?? outputSize / size, region: [0, 1] };
  });
  emitSampled(context, resized, samplingOf(context, true));
};

function samplingOf(context: LowerContext, isOld: boolean): Sampling {
  const given = context.string("mode") ?? "nearest";
  const mode = given === "bilinear" || given === "trilinear" ? "linear" : given;
  if (mode !== "nearest" && mode !== "linear" && mode !== "cubic") {
    return context.fail(`mode is "${mode}", supported are nearest, linear and cubic`);
  }
  const coordinates = isOld
    ? "asymmetric"
    : (context.string("coordinate_transformation_mode") ?? "half_pixel");
  const nearest = isOld ? "simple" : (context.string("nearest_mode") ?? "round_prefer_floor");
  if (!isCoordinateMode(coordinates)) {
    return context.fail(
      `coordinate_transformation_mode "${coordinates}" is none of ${coordinateModes.join(", ")}`,
    );
  }
  if (!isNearestMode(nearest)) {
    return context.fail(`nearest_mode "${nearest}" is none of ${nearestModes.join(", ")}`);
  }
  const filter: Filter = {
    mode: mode === "nearest" ? "linear" : mode,
    coordinates,
    antialias: context.int("antialias") === 1,
    excludeOutside: context.int("exclude_outside") === 1,
    cubicA: context.float("cubic_coeff_a") ?? -0.75,
  };
  return { mode, nearest, filter, extrapolation: context.float("extrapolation_value") ?? 0 };
}

function isCoordinateMode(name: string): name is CoordinateMode {
  return coordinateModes.some((mode) => mode === name);
}

function isNearestMode(name: string): name is NearestMode {
  return nearestModes.some((mode) => mode === name);
}

function emitSampled(context: LowerContext, axes: readonly ResizedAxis[], sampling: Sampling): void {
  const from = context.input(0);
  if (from.shape.includes(0) && !context.outputShape(0).includes(0)) context.fail("resizes an empty tensor");
  if (axes.every((axis) => isKept(axis, sampling))) return context.setOutput(0, from);
  if (sampling.mode === "nearest") return emitNearest(context, from, axes, sampling);
  const { filter, extrapolation } = sampling;
  const tables = axes.map((axis): TapTable | undefined =>
    isKept(axis, sampling) ? undefined : tapTable(axis, filter),
  );
  const data = isResizedType(from.type) ? from : asFloat(context, from);
  if (emitWideRows(context, data, tables, extrapolation)) return;
  writeOutput(context, from, keptOrder(from), (to) => {
    const target = to.type === data.type ? to : context.temporary("float32", to.shape, orderOf(to));
    emitResize(context, { from: data, to: target, tables, extrapolation });
    if (target !== to) context.evaluateInto(truncated(target, to.type), to);
  });
}

/** By vectors, where channels that lie innermost are no multiple of one: of rows with room for it. False where that does not pay. */
function emitWideRows(
  context: LowerContext,
  from: View,
  tables: readonly (TapTable | undefined)[],
  extrapolation: number,
): boolean {
  const order = keptOrder(from);
  const axis = order.at(-1) ?? 0;
  const shape = context.outputShape(0);
  if (from.type !== context.outputType(0) || !resizesAtOnce(tables)) return false;
  const wide = widerRow({ from, axis, shape }, tables, context.target);
  if (wide === undefined) return false;
  const own = (view: View) => sliced(view, axis, 0, shape[axis] ?? 1);
  const rows = context.temporary(from.type, from.shape.with(axis, wide), order);
  context.copy(from, own(rows));
  const to = context.temporary(from.type, shape.with(axis, wide), order);
  emitResize(context, { from: rows, to, tables, extrapolation });
  context.setOutput(0, own(to));
  return true;
}

/** Sizes and coordinates are the same before and after. */
function isKept({ size, outputSize, scale, region }: ResizedAxis, { filter }: Sampling): boolean {
  const isWhole = filter.coordinates !== "tf_crop_and_resize" || (region[0] === 0 && region[1] === 1);
  return size === outputSize && scale === 1 && isWhole && filter.coordinates !== "tf_half_pixel_for_nn";
}

function emitNearest(
  context: LowerContext,
  from: View,
  axes: readonly ResizedAxis[],
  sampling: Sampling,
): void {
  const { filter, nearest, extrapolation } = sampling;
  const tables = axes.map((axis) =>
    isKept(axis, sampling) ? undefined : nearestTable(axis, filter.coordinates, nearest),
  );
  const fill = extrapolation === 0 ? undefined : context.constant(from.type, [], [extrapolation]);
  writePlaced(context, from, keptOrder(from), (to) => emitSelect(context, { from, to, tables, fill }));
}

/** Integers are resized as float32, and cut off again. */
function asFloat(context: LowerContext, view: View): View {
  const load: Expr = { kind: "load", type: scalarOf(view.type), view };
  return context.evaluate(
    { kind: "convert", type: "f32", arg: load },
    view.shape,
    "float32",
    keptOrder(view),
  );
}

function truncated(view: View, type: StorageType): Expr {
  const load: Expr = { kind: "load", type: "f32", view };
  return isFloatStorage(type) ? load : { kind: "convert", type: scalarOf(type), arg: load };
}

export const resizeLowerings: LowerTable = {
  Resize: resize,
  "com.ms.internal.nhwc::Resize": resize,
  Upsample: upsample,
};
