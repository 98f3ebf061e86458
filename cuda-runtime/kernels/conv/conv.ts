/** @file Emits convolutions: what has to be copied or packed first, the product, and the sum of its splits. */

import type { Emitter } from "../../ir/emitter.ts";
import { OperandError } from "../../ir/operand-error.ts";
import type { PlanTarget } from "../../ir/step.ts";
import type { FloatStorage } from "../../ir/storage.ts";
import { bytesOfType, isFloatStorage, isHalfStorage } from "../../ir/storage.ts";
import { elementCount, permuted, type View } from "../../ir/view.ts";
import { emitDepthwise } from "../depthwise/depthwise.ts";
import { emitGemm } from "../gemm/gemm.ts";
import { type ConvChoice, type ConvSource, chooseConv, describeConv } from "./choose.ts";
import { type ConvProblem, chunksOf } from "./cost.ts";
import {
  type ConvRequest,
  copied,
  copyMicrosecondsOf,
  gatherTable,
  type Parts,
  packed,
  storageOf,
  tapsOf,
} from "./operands.ts";
import { type ConvFields, convParams, type Window } from "./params.ts";
import {
  channelAlignment,
  isChannelsLast,
  positionStride,
  type Spatial,
  spatialOf,
  triple,
  vectorWidth,
} from "./spatial.ts";
import { type ConvMath, elementBytes, sharedBytesOf, threadsOf } from "./table.ts";

export type { ConvRequest } from "./operands.ts";

/** `accepts` narrows the choice among the kernels of this family, for measurements and tests. */
export function emitConv(
  emitter: Emitter,
  request: ConvRequest,
  accepts?: (choice: ConvChoice) => boolean,
): void {
  if (elementCount(request.to.shape) === 0) return;
  const w = spatialOf(request.w);
  const window: Window = {
    kernel: w.size,
    stride: triple(request.strides, 1),
    dilation: triple(request.dilations, 1),
    pad: triple(request.pads, 0),
  };
  if (request.groups > 1 && w.channels === 1) {
    emitDepthwise(emitter, request, window);
    return;
  }
  const parts: Parts = {
    request,
    math: mathOf(emitter, request),
    y: spatialOf(request.to),
    w,
    window,
    channels: w.channels,
    filters: w.batch / request.groups,
  };
  if (accepts !== undefined || !emitPointwise(emitter, parts)) emitProduct(emitter, parts, accepts);
}

/**
 * One tap without padding or strides is a product of matrices, of each image or of all at once. False where it is not,
 * or where the product's kernels would compute in another type.
 */
function emitPointwise(emitter: Emitter, { request, math, y, window }: Parts): boolean {
  const { groups, epilogue } = request;
  const isPlain =
    groups === 1 &&
    window.kernel.every((taps) => taps === 1) &&
    window.stride.every((stride) => stride === 1) &&
    window.pad.every((pad) => pad === 0);
  const x = spatialOf(request.x);
  const isSame = x.size.every((size, axis) => size === y.size[axis]);
  if (!isPlain || !isSame || storageOf[math] !== request.x.type) return false;
  if (math === "tf32" && !emitter.tf32) return false;
  const views = [x, y, ...(epilogue.residual ? [spatialOf(epilogue.residual)] : [])];
  const isWhole = views.every((view) => positionStride(view) !== 0);
  const matrices = views.map((view) => (isWhole ? matrixOf(view) : matricesOf(view)));
  const [a, to, residual] = matrices;
  if (a === undefined || to === undefined || matrices.includes(undefined)) return false;
  const [filters = 1, channels = 1] = request.w.shape;
  const w = emitter.packed(
    { ...request.w, shape: [filters, channels], strides: request.w.strides.slice(0, 2) },
    { type: a.type },
  );
  const b = permuted(w, [1, 0]);
  emitGemm(emitter, {
    a,
    b: isWhole ? b : { ...b, shape: [1, ...b.shape], strides: [0, ...b.strides] },
    to,
    epilogue: { ...epilogue, residual },
  });
  return true;
}

/** [positions of all images, channels] */
function matrixOf(spatial: Spatial): View {
  const { view, batch, channels, size, channelStride } = spatial;
  const positions = batch * size[0] * size[1] * size[2];
  return { ...view, shape: [positions, channels], strides: [positionStride(spatial), channelStride] };
}

/** [batch, positions of an image, channels]; undefined where one stride does not lead through an image. */
function matricesOf(spatial: Spatial): View | undefined {
  const { view, batch, channels, size, channelStride, batchStride } = spatial;
  const step = positionStride({ ...spatial, batch: 1 });
  if (step === 0) return undefined;
  return {
    ...view,
    shape: [batch, size[0] * size[1] * size[2], channels],
    strides: [batchStride, step, channelStride],
  };
}

/** TF32 keeps as much of a float32 as float16 does, so it serves whatever is stored as half. */
function mathOf({ target, tf32 }: Emitter, { x, to, operands = floatOf(x) }: ConvRequest): ConvMath {
  const { features } = target;
  if (operands === "float16") return features.half ? "f16" : "f32";
  if (operands === "bfloat16") return features.bf16 ? "bf16" : "f32";
  if (!features.tf32) return "f32";
  return tf32 || isHalfStorage(to.type) ? "tf32" : "f32";
}

function floatOf({ type }: View): FloatStorage {
  if (!isFloatStorage(type)) throw new Error(`tc-lint bug: a convolution of ${type}`);
  return type;
}

function emitProduct(emitter: Emitter, parts: Parts, accepts?: (choice: ConvChoice) => boolean): void {
  const { request, math, y } = parts;
  const x = spatialOf(request.x);
  const choice = chooseConv(
    problemOf(parts),
    sourceOf(parts, x, emitter.target),
    emitter.target,
    accepts,
  )?.launch;
  if (choice === undefined) {
    throw new OperandError(`there is no convolution in ${math} for sm_${emitter.target.computeCapability}`);
  }
  const { tile, merge } = choice;
  const groups = request.groups / merge;
  const channels = parts.channels * merge;
  const source = choice.copies
    ? copied(emitter, request.x, groups, storageOf[math])
    : { x, groupStride: channels * (x.channelStride || 1) };
  const planar = tile.grain === 0 && !isChannelsLast(source.x);
  const chunks = chunksOf({ taps: tapsOf(parts), channels }, tile);
  const rows = y.batch * y.size[0] * y.size[1] * y.size[2];
  const filters = parts.filters * merge;
  const padded = Math.ceil(filters / 8) * 8;
  const fields: ConvFields = {
    x: source.x,
    w: packed(emitter, parts, choice, { chunks, planar }),
    y,
    residual: request.epilogue.residual && spatialOf(request.epilogue.residual),
    epilogue: request.epilogue,
    partial:
      choice.splits > 1 ? emitter.temporary("float32", [choice.splits, groups, rows, padded]) : undefined,
    table: tile.grain === 0 ? gatherTable(emitter, parts, { x: source.x, channels, planar }) : undefined,
    rows,
    filters,
    channels,
    groups,
    groupStride: source.groupStride,
    chunks,
    chunksPerTap: Math.max(1, Math.ceil((channels * elementBytes(math)) / 16)),
    splits: choice.splits,
    chunksPerSplit: choice.stepsPerSplit * tile.chunks,
    tilesOfFilters: Math.ceil(filters / tile.filters),
    window: parts.window,
  };
  launchProduct(emitter, parts, choice, fields);
  if (fields.partial !== undefined) launchSum(emitter, fields, fields.partial, choice.sumMicroseconds);
}

function problemOf(parts: Parts): ConvProblem {
  const { request, y, channels, filters, math } = parts;
  const { x, to, epilogue } = request;
  const { residual } = epilogue;
  const bytesOf = (view: View) => elementCount(view.shape) * bytesOfType(view.type);
  return {
    math,
    rows: y.batch * y.size[0] * y.size[1] * y.size[2],
    filters,
    channels,
    groups: request.groups,
    taps: tapsOf(parts),
    inputBytes: bytesOf(x),
    outputBytes: bytesOf(to) + (residual === undefined ? 0 : bytesOf(residual)),
    storeWidth: vectorWidth(y, 8),
  };
}

/** Ten bits of a table's entry name a tap along an axis. */
const maxGatheredReach = 1023;
const maxTable = 32_768;

function sourceOf({ window, math, channels }: Parts, x: Spatial, target: PlanTarget): ConvSource {
  const { type } = x.view;
  const alignment = isChannelsLast(x) ? channelAlignment(x) : 0;
  const reach = (axis: number) => ((window.kernel[axis] ?? 1) - 1) * (window.dilation[axis] ?? 1);
  const taps = window.kernel[0] * window.kernel[1] * window.kernel[2];
  return {
    type: isFloatStorage(type) ? type : "float32",
    grain: type !== storageOf[math] ? 0 : alignment >= 16 ? 16 : alignment >= 8 ? 8 : alignment >= 4 ? 4 : 0,
    canGather: [0, 1, 2].every((axis) => reach(axis) <= maxGatheredReach) && taps * channels <= maxTable,
    copyMicroseconds: (groups) => copyMicrosecondsOf(x.view, groups, storageOf[math], target),
  };
}

function launchProduct(emitter: Emitter, parts: Parts, choice: ConvChoice, fields: ConvFields): void {
  const { tile, splits } = choice;
  const { x, w, y, epilogue, partial, table, rows, filters, groups } = fields;
  const blocks = Math.ceil(rows / tile.rows) * fields.tilesOfFilters;
  const after = [epilogue.scale, epilogue.bias, epilogue.residual];
  emitter.launch({
    kernel: { kind: "built", family: tile.family, entry: tile.entry },
    grid: [blocks, groups, splits],
    block: [threadsOf(tile), 1, 1],
    sharedBytes: sharedBytesOf(tile),
    params: convParams(fields),
    reads: present([x.view, w, table, ...(partial === undefined ? after : [])]),
    writes: [partial ?? y.view],
    flops: 2 * rows * parts.w.batch * parts.channels * tapsOf(parts),
    predictedMicroseconds: choice.productMicroseconds,
    detail: `${describeConv(choice)}; ${rows} x ${filters * groups} x ${fields.channels * tapsOf(parts)}`,
  });
}

function launchSum(emitter: Emitter, fields: ConvFields, partial: View, predictedMicroseconds: number): void {
  const { y, epilogue, rows, filters, groups } = fields;
  const threads = 128;
  // As the kernel decides: 4 filters a thread where they can be stored at once.
  const params = convParams(fields);
  const perThread = canStoreEights(fields) ? 4 : 1;
  emitter.launch({
    kernel: { kind: "built", family: "conv", entry: "conv_sum_splits" },
    grid: [Math.ceil((rows * Math.ceil(filters / perThread)) / threads), groups, 1],
    block: [threads, 1, 1],
    sharedBytes: 0,
    params,
    reads: present([partial, epilogue.scale, epilogue.bias, epilogue.residual]),
    writes: [y.view],
    predictedMicroseconds,
    detail: `sum of ${fields.splits} splits`,
  });
}

function canStoreEights({ y, filters }: ConvFields): boolean {
  return vectorWidth(y, filters) === 8;
}

function present(views: readonly (View | undefined)[]): View[] {
  return views.filter((view) => view !== undefined);
}
