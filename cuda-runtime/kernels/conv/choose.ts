/**
 * @file Which kernel a convolution runs on: the one that takes least time by a model of the GPU.
 *
 * A block's time is its products at the rate of the instructions, and what it costs to fetch; blocks share a
 * multiprocessor as long as registers and shared memory allow. Nothing here launches anything.
 */
import { maxOf } from "../../../src/ir/lists.ts";
import type { PlanTarget } from "../../ir/step.ts";
import {
  type ConvMath,
  type ConvTile,
  convTiles,
  elementBytes,
  isWgmma,
  sharedBytesOf,
  threadsOf,
} from "./table.ts";

/** A convolution as a product: `rows` output positions times `filters` of each group, over `channels` × `taps`. */
export interface ConvProblem {
  readonly math: ConvMath;
  readonly rows: number;
  readonly filters: number;
  readonly channels: number;
  readonly groups: number;
  readonly taps: number;
  /** Of one read of x, and of writing y and reading a residual. */
  readonly inputBytes: number;
  readonly outputBytes: number;
}

/** How x can be read as it lies: `grain` bytes at a time (0 where channels are no neighbours). */
export interface ConvSource {
  readonly type: ConvTile["source"];
  readonly grain: 16 | 8 | 4 | 0;
  /** Whether tables of offsets can name all of its taps. */
  readonly canGather: boolean;
}

export interface ConvChoice {
  readonly tile: ConvTile;
  /** Groups computed as one, with zeros where a filter does not see a channel. */
  readonly merge: number;
  readonly splits: number;
  /** Steps of `tile.chunks` that each split sums over. */
  readonly stepsPerSplit: number;
  /** x is first copied to channels last, padded so that it can be read by 16 bytes. */
  readonly copies: boolean;
  /** Predicted, of all launches: the copy and the sum of the splits included. */
  readonly microseconds: number;
  /** Of the product's own launch, and of the one that adds up its splits (0 without). */
  readonly productMicroseconds: number;
  readonly sumMicroseconds: number;
}

/** Beside a launch, before any block; until a block's first operands are there; from its last product to its last store. */
export const startMicroseconds = 0.9;
const fillMicroseconds = 1.1;
export const drainMicroseconds = 0.7;
/** Cycles of a multiprocessor for one element read on its own, and for one asynchronous copy. */
const gatherCycles = 0.0926;
const copyCycles = 0.103;
/** Of the GPU's rates, what gathered positions get from DRAM and from L2, measured on an H200. */
const dramShare = 0.962;
const cacheShare = 0.9157;
/** Share of a time that does not hide behind a longer one. */
const exposed = 0.1;
const splitCounts = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32];
const maxMerged = 64;

/** `accepts` narrows the choice, for measurements and tests. */
export function chooseConv(
  problem: ConvProblem,
  source: ConvSource,
  target: PlanTarget,
  accepts: (choice: ConvChoice) => boolean = () => true,
): ConvChoice | undefined {
  return convChoices(problem, source, target).find(accepts);
}

/** All that are possible, the fastest first. */
export function convChoices(problem: ConvProblem, source: ConvSource, target: PlanTarget): ConvChoice[] {
  const choices: ConvChoice[] = [];
  for (const tile of convTiles) {
    if (tile.math !== problem.math || sharedBytesOf(tile) > target.sharedBytesPerBlock) continue;
    if (isWgmma(tile) && !target.features.wgmma) continue;
    for (const merge of mergesOf(problem)) {
      const merged = mergedProblem(problem, merge);
      const copies = readsDirectly(tile, source, merged) ? false : canCopy(tile) ? true : undefined;
      if (copies === undefined) continue;
      for (const splits of splitCounts) {
        const choice = evaluated({ problem: merged, tile, merge, splits, copies }, target);
        if (choice !== undefined) choices.push(choice);
      }
    }
  }
  return choices.sort((a, b) => a.microseconds - b.microseconds);
}

function mergesOf({ groups, channels, filters }: ConvProblem): number[] {
  const counts: number[] = [];
  for (let merge = 1; merge <= Math.min(groups, maxMerged); merge++) {
    const isSmall = merge * channels <= maxMerged && merge * filters <= maxMerged;
    if (merge === 1 || (groups % merge === 0 && isSmall)) counts.push(merge);
  }
  return counts;
}

function mergedProblem(problem: ConvProblem, merge: number): ConvProblem {
  const { channels, filters, groups } = problem;
  return { ...problem, channels: channels * merge, filters: filters * merge, groups: groups / merge };
}

function readsDirectly(tile: ConvTile, source: ConvSource, { groups, channels }: ConvProblem): boolean {
  if (tile.source !== source.type) return false;
  if (tile.grain === 0) return source.canGather;
  const groupBytes = groups === 1 ? 0 : channels * elementBytes(tile.math);
  return source.grain >= tile.grain && groupBytes % tile.grain === 0;
}

/** A copy may convert, too. */
function canCopy(tile: ConvTile): boolean {
  return tile.grain === 16;
}

type Candidate = Pick<ConvChoice, "tile" | "merge" | "splits" | "copies"> & { readonly problem: ConvProblem };

/** Undefined where so many splits have nothing to do. */
function evaluated(candidate: Candidate, target: PlanTarget): ConvChoice | undefined {
  const { tile, merge, copies } = candidate;
  const steps = Math.ceil(chunksOf(candidate.problem, tile) / tile.chunks);
  const stepsPerSplit = Math.max(1, Math.ceil(steps / candidate.splits));
  const splits = Math.max(1, Math.ceil(steps / stepsPerSplit));
  if (splits !== candidate.splits) return undefined;
  return { tile, merge, splits, stepsPerSplit, copies, ...timesOf({ ...candidate, stepsPerSplit }, target) };
}

/** Pieces of 16 bytes that a filter has. */
export function chunksOf({ taps, channels }: Pick<ConvProblem, "taps" | "channels">, tile: ConvTile): number {
  const perChunk = 16 / elementBytes(tile.math);
  return tile.grain === 0 ? Math.ceil((taps * channels) / perChunk) : taps * Math.ceil(channels / perChunk);
}

type Times = Pick<ConvChoice, "microseconds" | "productMicroseconds" | "sumMicroseconds">;

function timesOf(candidate: Candidate & { readonly stepsPerSplit: number }, target: PlanTarget): Times {
  const { problem, tile, splits, stepsPerSplit, copies } = candidate;
  const { blocks, perProcessor, together } = blocksOf(problem, tile, splits, target);
  const warps = (together * threadsOf(tile)) / 32;
  const busy = Math.min(1, 0.25 + 0.08 * warps);
  const cycles = stepsPerSplit * (stepCycles(tile, target) / busy + fetchCycles(tile));
  const rounds = Math.ceil(perProcessor / together);
  const compute =
    (perProcessor * cycles) / target.clocksPerMicrosecond +
    fillMicroseconds * (rounds / together) +
    drainMicroseconds;
  const fetched = blocks * stepsPerSplit * (tile.rows + tile.filters) * tile.chunks * 16;
  const moved = problem.inputBytes + problem.outputBytes + weightBytes(problem, tile);
  const cacheRate = cacheShare * target.bandwidth.l2;
  const memoryRate = dramShare * target.bandwidth.dram;
  const start = target.launchMicroseconds + startMicroseconds;
  const product = start + overlapped([compute, fetched / cacheRate, moved / memoryRate]);
  const sum = splits > 1 ? start + sumBytes(problem, splits) / cacheRate : 0;
  const copy = copies ? start + (2 * problem.inputBytes) / memoryRate : 0;
  return { microseconds: product + sum + copy, productMicroseconds: product, sumMicroseconds: sum };
}

interface Blocks {
  readonly blocks: number;
  /** That one multiprocessor computes, and how many of them at once. */
  readonly perProcessor: number;
  readonly together: number;
}

export function blocksOf(
  { rows, filters, groups }: Pick<ConvProblem, "rows" | "filters" | "groups">,
  tile: ConvTile,
  splits: number,
  target: PlanTarget,
): Blocks {
  const blocks = Math.ceil(rows / tile.rows) * Math.ceil(filters / tile.filters) * groups * splits;
  const perProcessor = Math.ceil(blocks / target.multiprocessors);
  const fitting = Math.floor(target.sharedBytes / (sharedBytesOf(tile) + target.reservedSharedBytes));
  return { blocks, perProcessor, together: Math.max(1, Math.min(tile.blocks, fitting, perProcessor)) };
}

/** What takes longest hides most of the rest. */
function overlapped(times: readonly number[]): number {
  const longest = maxOf(times);
  return longest + exposed * times.reduce((total, time) => total + time, -longest);
}

function stepCycles(tile: ConvTile, { flopPerClock }: PlanTarget): number {
  const depth = (tile.chunks * 16) / elementBytes(tile.math);
  const { half, tf32, cuda, wgmma } = flopPerClock;
  const perClock = isWgmma(tile) ? wgmma : { f16: half, bf16: half, tf32, f32: cuda }[tile.math];
  return (2 * tile.rows * tile.filters * depth) / (perClock * tile.efficiency);
}

function fetchCycles(tile: ConvTile): number {
  const chunks = tile.rows * tile.chunks;
  if (tile.grain === 0) return chunks * (16 / elementBytes(tile.math)) * gatherCycles;
  return (chunks * 16 * copyCycles) / tile.grain;
}

function weightBytes(problem: ConvProblem, tile: ConvTile): number {
  return problem.groups * problem.filters * chunksOf(problem, tile) * 16;
}

/** Of the kernel that adds up the splits: through the cache. */
function sumBytes(problem: ConvProblem, splits: number): number {
  const sums = problem.rows * problem.groups * Math.ceil(problem.filters / 8) * 8 * 4;
  return 2 * splits * sums;
}

/** For the printed plan. */
export function describeConv({ tile, splits, merge, copies }: ConvChoice): string {
  const how = isWgmma(tile) ? "wgmma " : "";
  const parts = [`${how}${tile.math} ${tile.rows}x${tile.filters}`, `${tile.stages} stages`];
  if (tile.grain === 0) parts.push("gathered");
  else if (tile.grain < 16) parts.push(`by ${tile.grain} bytes`);
  if (splits > 1) parts.push(`${splits} splits`);
  if (merge > 1) parts.push(`${merge} groups at once`);
  if (copies) parts.push("x copied");
  return parts.join(", ");
}
