/** @file Launches of GroupNorm where channels are innermost: by slabs of channels, in runs of eight. */

import { bytesMoved, passMicroseconds } from "../../cost/predict.ts";
import type { Emitter } from "../../ir/emitter.ts";
import { writeParams } from "../../ir/param-table.ts";
import type { PlanTarget } from "../../ir/step.ts";
import { bytesOfType, type FloatStorage, storageTypes } from "../../ir/storage.ts";
import type { View } from "../../ir/view.ts";
import { divisorFields } from "../conv/spatial.ts";
import type { GroupNormRequest } from "./group.ts";
import { groupSlabStruct } from "./params.table.ts";
import { typeNames } from "./rows.ts";

const runChannels = 8;
/** Of a block, by the kernels' bounds and shared memory. */
const maxThreads = 512;
const maxGroups = 64;
/** Channels from which on blocks hardly share a sector with their neighbours. */
const wideSlab = 128;
/** A row of fewer is less than a sector of the L2. */
const narrowSlab = 16;
/** Blocks below which an H100's SMs wait for each other's (bench/gpu/norm.ts). */
const enoughBlocks = 80;
const maxGrid = 65_535;

/** How groups are cut into blocks. */
export interface SlabChoice {
  /** Whole groups, a multiple of eight channels, of one sample. */
  readonly slabChannels: number;
  readonly threads: number;
  /** Positions that a block takes at a time. */
  readonly rows: number;
  /** Positions of a block. */
  readonly chunk: number;
  /** Blocks of a slab; 1: it is read once, by one launch. */
  readonly chunks: number;
}

interface Extent {
  readonly samples: number;
  readonly channels: number;
  readonly positions: number;
  readonly groups: number;
  readonly type: FloatStorage;
}

/** Undefined where channels are not runs of eight, or groups are too many or too wide for one block. */
export function chooseSlab(extent: Extent): SlabChoice | undefined {
  const { samples, channels, groups } = extent;
  const ofGroup = channels / groups;
  const least = leastSlab(ofGroup);
  if (channels % runChannels !== 0 || least / ofGroup > maxGroups || least > maxThreads * runChannels)
    return undefined;
  if (samples > maxGrid || channels / least > maxGrid) return undefined;
  return wholeSlab(extent, least) ?? chunkedSlab(extent, least);
}

function leastSlab(ofGroup: number): number {
  let slab = ofGroup;
  while (slab % runChannels !== 0) slab += ofGroup;
  return slab;
}

/** Runs that a thread holds in registers. */
function runsOfThread(type: FloatStorage): number {
  return type === "float32" ? 2 : 4;
}

function wholeSlab({ positions, type }: Extent, slabChannels: number): SlabChoice | undefined {
  if (slabChannels < narrowSlab) return undefined;
  const columns = slabChannels / runChannels;
  const sizes = [128, 256, maxThreads].map((threads) => ({ threads, rows: Math.floor(threads / columns) }));
  const fits = sizes.find(({ rows }) => rows * runsOfThread(type) >= positions);
  return fits && { slabChannels, ...fits, chunk: positions, chunks: 1 };
}

function chunkedSlab({ samples, channels, groups, positions, type }: Extent, least: number): SlabChoice {
  let slabChannels = least;
  // A warp joins the moments of a group: no more groups than warps.
  const isFit = (slab: number) => channels % slab === 0 && slab / (channels / groups) <= maxThreads / 2 / 32;
  while (slabChannels < wideSlab && isFit(2 * slabChannels)) slabChannels *= 2;
  const columns = slabChannels / runChannels;
  const threads = columns > maxThreads / 2 ? maxThreads : maxThreads / 2;
  const rows = Math.floor(threads / columns);
  const blocks = (runs: number) => Math.ceil(positions / (rows * runs)) * (channels / slabChannels) * samples;
  const wanted = [4, 2, 1].filter((runs) => runs <= runsOfThread(type));
  const chunk = rows * (wanted.find((runs) => blocks(runs) >= enoughBlocks) ?? 1);
  return { slabChannels, threads, rows, chunk, chunks: Math.ceil(positions / chunk) };
}

/** Whether every run of eight channels starts at a multiple of 16 bytes. */
export function hasAlignedRuns({ type, offset, shape, strides }: View): boolean {
  const [, channel = 0, position = 0] = strides;
  return (
    channel === 1 &&
    [offset, sampleStride({ shape, strides }), position].every(
      (step) => (step * bytesOfType(type)) % 16 === 0,
    )
  );
}

/** A single sample may have any stride. */
export function sampleStride({ shape, strides }: Pick<View, "shape" | "strides">): number {
  return shape[0] === 1 ? 0 : (strides[0] ?? 0);
}

export function emitSlabs(
  emitter: Emitter,
  request: GroupNormRequest,
  type: FloatStorage,
  choice: SlabChoice,
): void {
  const { x, y, groups } = request;
  const [samples = 1, channels = 1, positions = 1] = x.shape;
  const { slabChannels, threads, rows, chunk, chunks } = choice;
  const ofGroup = channels / groups;
  const partial = chunks === 1 ? undefined : emitter.temporary("float32", [samples * groups, chunks, 2]);
  const common = {
    grid: [chunks, channels / slabChannels, samples],
    block: [threads, 1, 1],
    sharedBytes: 0,
    params: pack(request, choice, partial),
    detail: `${samples}x${groups} groups of ${ofGroup}x${positions}, ${slabChannels} channels by ${chunk}`,
  } as const;
  const sides = ofGroup === 4 || ofGroup >= runChannels ? 2 : 8;
  const entry = (name: string) =>
    ({ kind: "built", family: "norm", entry: `groupslab_${typeNames[type]}_${name}` }) as const;
  const given = [x, request.scale, request.bias].filter((view) => view !== undefined);
  const runs = Math.ceil(chunk / rows);
  const price = (kernel: keyof typeof prices, views: readonly View[]) =>
    priceOf(kernel, views, runs, emitter.target);
  if (partial === undefined) {
    emitter.launch({
      ...common,
      kernel: entry(`s${sides}_whole`),
      reads: given,
      writes: [y],
      predictedMicroseconds: price("whole", [x, y]),
    });
    return;
  }
  emitter.launch({
    ...common,
    kernel: entry(`s${sides}_statistics`),
    reads: [x],
    writes: [partial],
    predictedMicroseconds: price("statistics", [x]),
  });
  emitter.launch({
    ...common,
    kernel: entry("apply"),
    reads: [...given, partial],
    writes: [y],
    predictedMicroseconds: price("apply", [x, y]),
  });
}

/** What a thread waits for beside memory: joinings of the block, and each of its runs. */
const prices = {
  whole: { joins: 5, ofRun: 0.9 },
  statistics: { joins: 3, ofRun: 0.5 },
  apply: { joins: 3, ofRun: 0.5 },
} as const;

function priceOf(
  kernel: keyof typeof prices,
  views: readonly View[],
  runs: number,
  target: PlanTarget,
): number {
  const { joins, ofRun } = prices[kernel];
  return passMicroseconds({ bytes: bytesMoved(views), rounds: joins + ofRun * runs }, target);
}

function pack(request: GroupNormRequest, choice: SlabChoice, partial: View | undefined) {
  const { x, y, groups, scale, bias, isParameterPerGroup, isSilu, epsilon } = request;
  const [, channels = 1, positions = 1] = x.shape;
  const { slabChannels, rows, chunk, chunks } = choice;
  const ofGroup = channels / groups;
  return writeParams(groupSlabStruct, {
    x,
    scale,
    bias,
    y,
    partial,
    columns: divisorFields(slabChannels / runChannels),
    rows: divisorFields(rows),
    channels: divisorFields(ofGroup),
    slab: slabChannels,
    slabGroups: slabChannels / ofGroup,
    positions,
    xSample: x.strides[0] ?? 0,
    xPosition: x.strides[2] ?? 0,
    ySample: y.strides[0] ?? 0,
    yPosition: y.strides[2] ?? 0,
    chunk,
    chunks,
    parameterPerGroup: isParameterPerGroup,
    yType: storageTypes[y.type].code,
    epsilon,
    silu: isSilu,
  });
}
