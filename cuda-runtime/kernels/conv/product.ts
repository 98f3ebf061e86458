/** @file Emits a convolution as one product: operands copied and packed first, the kernel, and the sum of its splits. */

import type { Candidate } from "../../cost/candidate.ts";
import type { Emitter } from "../../ir/emitter.ts";
import { OperandError } from "../../ir/operand-error.ts";
import type { ParamBlock } from "../../ir/params.ts";
import { questionKey } from "../../ir/question.ts";
import type { Launch, PlanTarget } from "../../ir/step.ts";
import { bytesOfType, isFloatStorage } from "../../ir/storage.ts";
import { distinctCount, reshaped, sliced, type View } from "../../ir/view.ts";
import { withCopiedEnds } from "../gemm/end-maps.ts";
import { packedPitch } from "../gemm/pack.ts";
import { blocksThatStay, runsOfSum } from "../gemm/table.ts";
import { type ConvChoice, type ConvSource, chooseConv, convCandidates, describeConv } from "./choose.ts";
import { type ConvProblem, chunksOf } from "./cost.ts";
import { haloBytesOf, haloOf, haloParams, patchesOf } from "./halo.ts";
import {
  copied,
  copyMicrosecondsOf,
  gatherTable,
  type Parts,
  packed,
  storageOf,
  tapsOf,
} from "./operands.ts";
import { type ConvFields, convParams } from "./params.ts";
import { channelAlignment, isChannelsLast, type Spatial, spatialOf, vectorWidth } from "./spatial.ts";
import {
  type ConvMath,
  type ConvTile,
  elementBytes,
  isByBoxes,
  sharedBytesOf,
  sumsInTeam,
  threadsOf,
} from "./table.ts";
import { canWalk, copiesEndsOfWalk, walkParams } from "./walk.ts";

/** `accepts` narrows the choice among the kernels of this family. Throws OperandError where none takes the operands. */
export function emitProduct(emitter: Emitter, parts: Parts, accepts?: (choice: ConvChoice) => boolean): void {
  const { request, math, window } = parts;
  const { target } = emitter;
  const isEmitted = emitter.choose({
    key: () => questionKey("conv", { request, math, window, constant: emitter.isConstant(request.w) }),
    candidates: () => candidatesOf(parts, target).filter(({ launch }) => accepts?.(launch) ?? true),
    variantOf: ({ tile, merge, copies }) => [tile.entry, merge, copies].join(" "),
    nameOf: describeConv,
    emit: (to, choice: ConvChoice) => emitChoice(to, parts, choice),
  });
  if (!isEmitted)
    throw new OperandError(`there is no convolution in ${math} for sm_${target.computeCapability}`);
}

const chunkBytes = 16;

function chunksOfTap(math: ConvMath, channels: number): number {
  return Math.max(1, Math.ceil((channels * elementBytes(math)) / chunkBytes));
}

/** Of a filter, and of each of its taps. */
function weightChunks(parts: Parts, tile: ConvTile, channels: number) {
  const perTap = chunksOfTap(parts.math, channels);
  if (!isByBoxes(tile))
    return { chunks: chunksOf({ taps: tapsOf(parts), channels }, tile), chunksPerTap: perTap };
  // TMA counts channels itself: a tap's need no filling up to a step, and begin where each piece lies in one line.
  const chunksPerTap = packedPitch(perTap, chunkBytes);
  return { chunks: tapsOf(parts) * chunksPerTap, chunksPerTap };
}

function emitChoice(emitter: Emitter, parts: Parts, choice: ConvChoice): void {
  const { request, math, y } = parts;
  const x = spatialOf(request.x);
  const { tile, merge } = choice;
  const isBoxed = isByBoxes(tile);
  // TMA has the groups side by side: one product, whose tiles know theirs.
  const groups = isBoxed ? 1 : request.groups / merge;
  const channels = parts.channels * merge;
  const source = choice.copies
    ? copied(emitter, request.x, groups, storageOf[math], isBoxed)
    : { x, groupStride: channels * (x.channelStride || 1) };
  const planar = tile.grain === 0 && !isChannelsLast(source.x);
  const chunks = chunksOf({ taps: tapsOf(parts), channels }, tile);
  const rows = y.batch * y.size[0] * y.size[1] * y.size[2];
  const filters = isBoxed ? parts.w.batch : parts.filters * merge;
  const padded = Math.ceil(filters / 8) * 8;
  // A team's blocks count their splits themselves.
  const splits = sumsInTeam(tile) ? 1 : choice.splits;
  const w = packed(emitter, parts, choice, { ...weightChunks(parts, tile, channels), planar });
  const fields: ConvFields = {
    x: source.x,
    w,
    isWeight: emitter.isConstant(w) && !emitter.isConstant(source.x.view),
    y,
    residual: request.epilogue.residual && spatialOf(request.epilogue.residual),
    epilogue: request.epilogue,
    partial: splits > 1 ? emitter.temporary("float32", [splits, groups, rows, padded]) : undefined,
    table: tile.grain === 0 ? gatherTable(emitter, parts, { x: source.x, channels, planar }) : undefined,
    rows,
    filters,
    channels,
    groups,
    filtersOfGroup: parts.filters * merge,
    groupStride: source.groupStride,
    chunks,
    chunksPerTap: chunksOfTap(math, channels),
    splits,
    chunksPerSplit: choice.stepsPerSplit * tile.chunks,
    tilesOfFilters: Math.ceil(filters / tile.filters),
    window: parts.window,
  };
  launchProduct(emitter, parts, choice, fields);
  if (fields.partial !== undefined) launchSum(emitter, fields, fields.partial, choice.sumMicroseconds);
}

/** The best kernel for it, and what it is predicted to take with all that goes before and after; undefined for none. */
export function choiceOf(
  parts: Parts,
  target: PlanTarget,
  accepts?: (choice: ConvChoice) => boolean,
): Candidate<ConvChoice> | undefined {
  return chooseConv(problemOf(parts), sourceOf(parts, spatialOf(parts.request.x), target), target, accepts);
}

function candidatesOf(parts: Parts, target: PlanTarget): Candidate<ConvChoice>[] {
  return convCandidates(problemOf(parts), sourceOf(parts, spatialOf(parts.request.x), target), target);
}

function problemOf(parts: Parts): ConvProblem {
  const { request, y, channels, filters, math } = parts;
  const { x, to, epilogue } = request;
  const { residual } = epilogue;
  const bytesOf = (view: View) => distinctCount(view) * bytesOfType(view.type);
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
    halo: haloOf(parts),
  };
}

/** Ten bits of a table's entry name a tap along an axis. */
const maxGatheredReach = 1023;
const maxTable = 32_768;

function sourceOf({ window, math, channels, y, request }: Parts, x: Spatial, target: PlanTarget): ConvSource {
  const { type } = x.view;
  const { residual } = request.epilogue;
  const alignment = isChannelsLast(x) ? channelAlignment(x) : 0;
  const reach = (axis: number) => ((window.kernel[axis] ?? 1) - 1) * (window.dilation[axis] ?? 1);
  const taps = window.kernel[0] * window.kernel[1] * window.kernel[2];
  return {
    type: isFloatStorage(type) ? type : "float32",
    grain: type !== storageOf[math] ? 0 : alignment >= 16 ? 16 : alignment >= 8 ? 8 : alignment >= 4 ? 4 : 0,
    canGather: [0, 1, 2].every((axis) => reach(axis) <= maxGatheredReach) && taps * channels <= maxTable,
    canWalk: canWalk(window, x, [y, ...(residual === undefined ? [] : [spatialOf(residual)])]),
    copyMicroseconds: (groups) => copyMicrosecondsOf(x.view, groups, storageOf[math], target),
  };
}

function launchProduct(emitter: Emitter, parts: Parts, choice: ConvChoice, fields: ConvFields): void {
  const { tile } = choice;
  const { x, y, epilogue, partial, table, rows, filters, groups } = fields;
  const kernel = { kind: "built", family: tile.family, entry: tile.entry } as const;
  const after = [epilogue.scale, epilogue.bias, epilogue.residual];
  emitter.launch({
    kernel: tile.walk !== undefined && copiesEndsOfWalk(fields, tile.walk) ? withCopiedEnds(kernel) : kernel,
    grid: gridOf(choice, fields, emitter.target),
    cluster: sumsInTeam(tile) ? [choice.splits, 1, 1] : undefined,
    block: [threadsOf(tile), 1, 1],
    sharedBytes: tile.halo === undefined ? sharedBytesOf(tile) : haloBytesOf(fields.window, tile.halo),
    params: paramsOf(fields, tile),
    reads: present([
      x.view,
      weightsRead(parts, fields, tile),
      table,
      ...(partial === undefined ? after : []),
    ]),
    writes: [partial ?? y.view],
    flops: 2 * rows * parts.w.batch * parts.channels * tapsOf(parts),
    predictedMicroseconds: choice.productMicroseconds,
    detail: `${describeConv(choice)}; ${rows} x ${filters * groups} x ${fields.channels * tapsOf(parts)}`,
  });
}

/** Without what lies between taps that begin at whole lines. */
function weightsRead(parts: Parts, { w, filters, channels }: ConvFields, tile: ConvTile): View {
  const count = tapsOf(parts);
  const perTap = (w.shape[1] ?? 0) / count;
  const taps = isByBoxes(tile) ? reshaped(w, [filters, count, perTap]) : undefined;
  return taps === undefined ? w : sliced(taps, 2, 0, channels);
}

function paramsOf(fields: ConvFields, { walk, halo }: ConvTile): ParamBlock {
  if (halo !== undefined) return haloParams(fields, halo);
  return walk === undefined ? convParams(fields) : walkParams(fields, walk);
}

/** Blocks that walk stay: as many as there is room for, where there are tiles for all. Those of a team have one tile. */
function gridOf({ tile, splits }: ConvChoice, fields: ConvFields, target: PlanTarget): Launch["grid"] {
  if (tile.halo !== undefined) {
    const tiles = Math.ceil(patchesOf(fields.y) / tile.halo.patches) * fields.tilesOfFilters;
    return [Math.min(tiles, tile.halo.blocks * target.multiprocessors), 1, 1];
  }
  const tiles = Math.ceil(fields.rows / tile.rows) * fields.tilesOfFilters;
  if (tile.walk === undefined) return [tiles, fields.groups, splits];
  const blocks = tiles * splits;
  const room = blocksThatStay(tile.walk.product, tile.walk.panels) * target.multiprocessors;
  return [sumsInTeam(tile) ? blocks : Math.min(blocks, room), 1, 1];
}

function launchSum(emitter: Emitter, fields: ConvFields, partial: View, predictedMicroseconds: number): void {
  const { y, epilogue, rows, filters, groups } = fields;
  const runs = runsOfSum(fields.splits);
  const threads = 128 / runs;
  // As the kernel decides: 4 filters a thread where they can be stored at once.
  const params = convParams(fields);
  const perThread = canStoreEights(fields) ? 4 : 1;
  emitter.launch({
    kernel: { kind: "built", family: "conv", entry: "conv_sum_splits" },
    grid: [Math.ceil((rows * Math.ceil(filters / perThread)) / threads), groups, 1],
    block: [threads, runs, 1],
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
