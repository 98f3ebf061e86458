/**
 * @file Predicted time of a convolution by one kernel: what the kernel is chosen by, and what the plan prints.
 *
 * A block's time is its products at the rate of the instructions, and what it costs to fetch; blocks share a
 * multiprocessor as long as registers and shared memory allow.
 */
import { maxOf } from "../../../src/ir/lists.ts";
import { sectorBytes } from "../../cost/cache-lines.ts";
import type { PlanTarget } from "../../ir/step.ts";
import { oddStoreClocks } from "../gemm/cost.ts";
import { hasRegistersForEnds } from "../gemm/hopper-cost.ts";
import { type StayingRates, stayingClocks, sumRates, teamSumClocks } from "../gemm/staying-cost.ts";
import { isLargeTeamRow } from "../gemm/table.ts";
import type { HaloWork } from "./halo.ts";
import { haloMicroseconds, storeWidthOf } from "./halo-cost.ts";
import { largeTeamClocks, largeTeamRates } from "./large-team-cost.ts";
import {
  type ConvMath,
  type ConvTile,
  channelsOfBox,
  elementBytes,
  isWgmma,
  sharedBytesOf,
  sumsInTeam,
  threadsOf,
  type Walk,
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
  /** Filters that a thread could store at once, were there as many. */
  readonly storeWidth: 8 | 2 | 1;
  /** Where taps can be read from patches of the image. */
  readonly halo?: HaloWork | undefined;
}

/** How a kernel computes it. */
export interface ConvCut {
  readonly tile: ConvTile;
  readonly splits: number;
  /** Steps of `tile.chunks` that each split sums over. */
  readonly stepsPerSplit: number;
}

/** Beside a launch, before any block; until a block's first operands are there; from its last product to its last store. */
const startMicroseconds = 0.9;
const fillMicroseconds = 1.1;
const drainMicroseconds = 0.7;
/** Cycles of a multiprocessor for one element read on its own, and for one asynchronous copy. */
const gatherCycles = 0.0926;
const copyCycles = 0.103;
/** Of the GPU's rates, what gathered positions get from DRAM and from L2, measured on an H200. */
const dramShare = 0.962;
const cacheShare = 0.9157;
/**
 * Partial sums beyond those that half of L2 holds (the product is still writing), stored and read again: in passes at DRAM's rate, measured on an H200
 * (seven misaligned convolutions of batch 32: 0.58 to 1.08 µs a megabyte beyond two passes).
 */
const spilledPasses = 5.6;
/**
 * Clocks of a multiprocessor for a result that a thread adds up by itself, its filters being no vectors: on an H200 four misaligned convolutions of batch 1
 * took 7.7 to 10.1 µs a million results longer than predicted, three of whole vectors no longer (bench/results/gpu-conv-misaligned.json, gpu-conv.json).
 */
const oddSumClocks = 2;
/** Share of a time that does not hide behind a longer one. */
const exposed = 0.1;
/** Measured over modelled, beyond the launch, of kernels that gather x: on an H200 (bench/results/gpu-conv.json). */
const gatherFactor = 2.7;
/** Of their stores, which hide behind nothing: first layers of 12 and 30 filters on images of batch 8 and 32 (h100-batch-launches.jsonl). */
const gatherStoreFactor = 1.4;
/** For each of its results, a thread is so long in the epilogue: on an H200, by what it can store at once. */
const storeClocks = { 8: 134, 2: 515, 1: 824 } as const;

/** Of the product's own launch. `problem` has merged groups. */
export function productMicroseconds(problem: ConvProblem, cut: ConvCut, target: PlanTarget): number {
  const { tile, splits } = cut;
  if (tile.halo !== undefined && problem.halo !== undefined)
    return haloMicroseconds(problem, problem.halo, tile.halo, target);
  if (tile.walk !== undefined && sumsInTeam(tile))
    return teamMicroseconds(problem, tile, tile.walk, splits, target);
  if (tile.walk !== undefined) return walkMicroseconds(problem, tile, tile.walk, splits, target);
  const start = target.launchMicroseconds + startMicroseconds;
  const { perProcessor, together } = blocksOf(problem, cut, target);
  const modelled = overlapped([
    computeMicroseconds(cut, { perProcessor, together }, target),
    ...memoryMicroseconds(problem, cut, target),
  ]);
  const storeWidth = storeWidthOf(problem);
  // Where they are no vectors, a thread goes through those that the tile has beside the last one, too.
  const wide = storeWidth === 8 ? Math.min(problem.filters, tile.filters) : tile.filters;
  const perThread = (tile.rows * wide) / threadsOf(tile);
  // Partial sums go out as they are.
  const clocks = splits > 1 ? 0 : storeClocks[storeWidth];
  const epilogues = ((perProcessor / together) * perThread * clocks) / target.clocksPerMicrosecond;
  const stored = Math.max(0, epilogues - drainMicroseconds);
  return start + (tile.grain > 0 ? modelled + stored : gatherFactor * modelled + gatherStoreFactor * stored);
}

/**
 * Of the kernels that TMA feeds from images: as a product's of matrices, and clocks until the first tile is there, of the copy engine for a row or a
 * column of a tile (of 128 bytes), the share of DRAM's rate, and what splits cost beside their sum. Fitted to 34 convolutions by all tiles on an H100
 * (bench/measurements/h100-conv-walks.jsonl): what is taken is 2 % behind the best. Of shared memory groups that multiply together get less in sums of
 * 18,432 terms than in those: by the share that the rest says, the third layer of deeplabv3 at batch 32 was cut in two, and took 375 to 427 µs on an H200
 * where one tile of 64 rows after the other takes 312 to 358.
 */
const walking = {
  sharedShare: 0.78,
  turnOfElement: 0.158,
  step: { together: 95, turns: 224, turnsOf64: 213 },
  end: { together: 4470, turns: 2450, turnsOf64: 2290 },
  endOfElement: 0.02,
  copies: 1,
  start: 740,
  rowClocks: 1.8,
  columnClocks: 2.66,
  dramShare: 0.99,
  splitMicroseconds: 0.7,
} as const;
/** Of a step, for each panel of its operands but the first. */
const panelClocks = 160;
/** Of a tile's end, for a result that goes out as a float by itself. */
const endOfPartial = 0.5;

/**
 * Of a multiprocessor for a result of rows off 16 bytes, which lanes store side by side: 250, 251 and 256 filters, 128, 129 and 130 by all tiles on an H100
 * (bench/measurements/h100-conv-odd.jsonl).
 */
const sideBySideClocks = { 8: 0, 2: 0.36, 1: 0.44 } as const;
/** Of tiles of 32 columns: 30 filters on images of batch 8 and 32 took 1.2 to 2.7 clocks a result longer (bench/measurements/h100-batch-launches.jsonl). */
const narrowSideBySideClocks = { 8: 0, 2: 1.7, 1: 0.44 } as const;
const narrowColumns = 32;

/** Their rates for so many panels. */
function walkingRates(panels: number, splits: number): StayingRates {
  const { step, endOfElement } = walking;
  const by = panelClocks * (panels - 1);
  return {
    ...walking,
    step: {
      together: step.together + by,
      turns: step.turns + by,
      turnsOf64: step.turnsOf64 + by,
    },
    endOfElement: splits > 1 ? endOfPartial : endOfElement,
  };
}

/**
 * Of a row of a box of 64 bytes that begins in the middle of a sector of 32: two convolutions on an H200, 272 bytes a position, took 2.3 and 3 times as
 * long; boxes of 128 bytes show nothing of it. Copies begin at whole lines.
 */
const straddlingClocks = 8;

/** Of the copy engine, for a row of a tile in a step, of which there are as many as panels. */
function rowClocksOf({ channels, groups }: ConvProblem, { panels }: Walk, clocks: number): number {
  const positionBytes = 2 * channels * groups;
  const isCopied = positionBytes % 16 !== 0;
  const straddles =
    panels > 1 && !isCopied && positionBytes % sectorBytes !== 0 && positionBytes > sectorBytes;
  return panels * (straddles ? straddlingClocks : clocks);
}

/** Of clusters' blocks, whose rings are short. What is chosen of 15 layers takes 3 % more than the best in the mean. */
const teamRates = { ...sumRates, copies: 0.8, rowClocks: 3.2, dramShare: 0.85, start: 80 } as const;

/** Results of a product over an image as `StayingWork` counts them, and clocks of what it moves. */
function walkedWork(
  problem: ConvProblem,
  tile: ConvTile,
  walk: Walk,
  splits: number,
  rates: { readonly rowClocks: number; readonly dramShare: number },
  target: PlanTarget,
) {
  const { rows, groups, inputBytes, outputBytes } = problem;
  const filters = problem.filters * groups;
  const chunks = chunksOf(problem, tile);
  const moved = inputBytes + outputBytes + filters * chunks * 16;
  return {
    work: {
      ...{ m: rows, n: filters, k: chunks * 8, batch: 1, splits },
      // A residual is read at the same places.
      stored: outputBytes / (2 * rows * filters),
      rowClocks: rowClocksOf(problem, walk, rates.rowClocks),
    },
    memory: moved / (rates.dramShare * target.bytesPerClock.dram * target.multiprocessors),
  };
}

function walkMicroseconds(
  problem: ConvProblem,
  tile: ConvTile,
  walk: Walk,
  splits: number,
  target: PlanTarget,
): number {
  const { product } = walk;
  const { work: whole, memory } = walkedWork(problem, tile, walk, splits, walking, target);
  const columnClocks = walk.panels * walking.columnClocks;
  const work = { ...whole, columnClocks, ...(splits > 1 ? { stored: 1 } : {}) };
  const compute = stayingClocks(product, work, walkingRates(walk.panels, splits), target);
  const tiles = Math.ceil(work.m / product.m) * Math.ceil(work.n / product.n);
  const sideBySide = product.n === narrowColumns ? narrowSideBySideClocks : sideBySideClocks;
  const each = hasRegistersForEnds(product) ? sideBySide : oddStoreClocks;
  const odd = work.stored * product.m * product.n * each[storeWidthOf(problem)];
  const stores = splits > 1 ? 0 : Math.ceil(tiles / target.multiprocessors) * odd;
  const clocks = walking.start + Math.max(compute + stores, memory);
  const split = splits > 1 ? walking.splitMicroseconds : 0;
  return target.launchMicroseconds + split + clocks / target.clocksPerMicrosecond;
}

/** Of those whose blocks add up in a cluster. */
function teamMicroseconds(
  problem: ConvProblem,
  tile: ConvTile,
  walk: Walk,
  splits: number,
  target: PlanTarget,
): number {
  const { product } = walk;
  const isLarge = isLargeTeamRow(product);
  const { work, memory } = walkedWork(
    problem,
    tile,
    walk,
    splits,
    isLarge ? largeTeamRates : teamRates,
    target,
  );
  const odd = (work.stored * product.m * product.n * oddStoreClocks[storeWidthOf(problem)]) / splits;
  const adding = isLarge
    ? largeTeamClocks(product, work, walk.panels, memory, target)
    : teamRates.start + teamSumClocks(product, work, teamRates, memory, target);
  const clocks = odd + adding;
  return target.launchMicroseconds + clocks / target.clocksPerMicrosecond;
}

/** Of the kernel that adds up the splits, in place when the product ends: through the cache, where it holds them. 0 without splits. */
export function sumMicroseconds(problem: ConvProblem, splits: number, target: PlanTarget): number {
  if (splits === 1) return 0;
  const bytes = splits * problem.rows * problem.groups * Math.ceil(problem.filters / 8) * 8 * 4;
  const { l2, dram } = target.bandwidth;
  const held = Math.min(bytes, target.l2Bytes / 2);
  const moved = (2 * held) / (cacheShare * l2) + (spilledPasses * (bytes - held)) / dram;
  const results = problem.rows * problem.groups * problem.filters;
  const clocks = storeWidthOf(problem) === 8 ? 0 : (oddSumClocks * results) / target.multiprocessors;
  return target.launchMicroseconds + moved + clocks / target.clocksPerMicrosecond;
}

/** Pieces of 16 bytes that a filter has. */
export function chunksOf({ taps, channels }: Pick<ConvProblem, "taps" | "channels">, tile: ConvTile): number {
  const perChunk = 16 / elementBytes(tile.math);
  if (tile.walk !== undefined) {
    const boxes = taps * Math.ceil(channels / channelsOfBox(tile.walk));
    return Math.ceil(boxes / tile.walk.panels) * tile.chunks;
  }
  if (tile.halo !== undefined) return taps * Math.ceil(channels / tile.halo.channels) * tile.chunks;
  return tile.grain === 0 ? Math.ceil((taps * channels) / perChunk) : taps * Math.ceil(channels / perChunk);
}

interface Blocks {
  /** That one multiprocessor computes, and how many of them at once. */
  readonly perProcessor: number;
  readonly together: number;
}

function countOf({ rows, filters, groups }: ConvProblem, { tile, splits }: ConvCut): number {
  return Math.ceil(rows / tile.rows) * Math.ceil(filters / tile.filters) * groups * splits;
}

function blocksOf(problem: ConvProblem, cut: ConvCut, target: PlanTarget): Blocks {
  const { tile } = cut;
  const perProcessor = Math.ceil(countOf(problem, cut) / target.multiprocessors);
  const fitting = Math.floor(target.sharedBytes / (sharedBytesOf(tile) + target.reservedSharedBytes));
  return { perProcessor, together: Math.max(1, Math.min(tile.blocks, fitting, perProcessor)) };
}

function computeMicroseconds(
  { tile, stepsPerSplit }: ConvCut,
  { perProcessor, together }: Blocks,
  target: PlanTarget,
): number {
  const warps = (together * threadsOf(tile)) / 32;
  const busy = Math.min(1, 0.25 + 0.08 * warps);
  const cycles = stepsPerSplit * (stepCycles(tile, target) / busy + fetchCycles(tile));
  const rounds = Math.ceil(perProcessor / together);
  return (
    (perProcessor * cycles) / target.clocksPerMicrosecond +
    fillMicroseconds * (rounds / together) +
    drainMicroseconds
  );
}

/** From the cache, and from DRAM. */
function memoryMicroseconds(problem: ConvProblem, cut: ConvCut, { bandwidth }: PlanTarget): number[] {
  const { tile, stepsPerSplit } = cut;
  const fetched = countOf(problem, cut) * stepsPerSplit * (tile.rows + tile.filters) * tile.chunks * 16;
  const weights = problem.groups * problem.filters * chunksOf(problem, tile) * 16;
  const moved = problem.inputBytes + problem.outputBytes + weights;
  return [fetched / (cacheShare * bandwidth.l2), moved / (dramShare * bandwidth.dram)];
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
