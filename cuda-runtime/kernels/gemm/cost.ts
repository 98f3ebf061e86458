/** @file Predicted time of a product by one kernel of the table: what the kernel is chosen by, and what the plan prints. */

import type { ActivationKind } from "../../ir/epilogue.ts";
import type { PlanTarget } from "../../ir/step.ts";
import type { FloatStorage } from "../../ir/storage.ts";
import { activationClocksOf } from "./end-cost.ts";
import { hasUsualEnds, hopperClocks } from "./hopper-cost.ts";
import { dramShareOf, hopperRates, matrixSumRates, stayingClocks, teamSumClocks } from "./staying-cost.ts";
import {
  type CutRow,
  elementBytes,
  type GemmRow,
  type HopperRow,
  type SimtRow,
  type SkinnyRow,
  sharedBytesOf,
  skinnyShape,
  stageBytes,
  sumsInTeam,
  type TensorRow,
  threadsOf,
} from "./table.ts";
import { thinMicroseconds } from "./thin-cost.ts";

/** Sizes only; `batch` is the number of products. */
export interface GemmSize {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly batch: number;
  readonly type: FloatStorage;
  readonly outputBytes: number;
  /** How many times the bytes of the output its stores take: 1 where they are whole lines, in order. */
  readonly storeFactor: number;
  /** Neighbours of the output that lie so that they can be stored at once. */
  readonly storeWidth: 8 | 2 | 1;
  /** Whether Hopper's tiles store neighbours side by side where rows are off 16 bytes: results of the operands' type in rows, no residual. */
  readonly isSideBySide: boolean;
  readonly residualBytes: number;
  /** Bytes that rows of the operands are aligned to: 16 or fewer. */
  readonly aGrain: number;
  readonly bGrain: number;
  /** The same up to lines of the L2 cache, 128 bytes. */
  readonly aLine: number;
  readonly bLine: number;
  /** Whether the product of one batch reads an operand that all others read too. */
  readonly sharedA: boolean;
  readonly sharedB: boolean;
  /** What is done to elements before the residual is added. */
  readonly first: ActivationKind;
}

/** Of kernels that mma.sync or CUDA cores compute, beside a launch: their own start, before anything is asked for. */
const startMicroseconds = 0.9;
/** Clocks before a kernel's first multiply and after its last. */
const fillClocks = 1500;
/**
 * From a copy of cp.async until it is there, of pieces of 128 bytes of long rows that nobody else reads: 16x4096x4096 whole on an H100 and in two
 * splits on an H200 take 570 clocks a step of four that are in flight (bench/measurements/h100-gemm-notes.jsonl, bench/results/gpu-gemm.json).
 */
const streamLatencyClocks = 2300;
/** Of the time that bytes take at DRAM's sustained rate, what streams of weights take at least: 1x11008x4096 on an H200. */
const streamShare = 0.93;
/** Of a step from one tile of k to the next: barrier, first fragments. */
const stepClocks = 110;

/**
 * Clocks of a multiprocessor for a result, tails of tiles included, by neighbours stored at once: on an H200
 * (bench/results/gpu-gemm.json).
 */
const storeClocks = {
  tensor: { 8: 0.06, 2: 0.26, 1: 0.4 },
  // Sums of splits go through shared memory an element at a time.
  team: { 8: 0, 2: 0.6, 1: 0.95 },
} as const;
/** Where no neighbours are stored side by side. */
export const oddStoreClocks = storeClocks.team;

/** Of the launch alone: without the sum of its splits, and what packing operands takes. */
export function microsecondsOf(row: GemmRow, size: GemmSize, splits: number, target: PlanTarget): number {
  if (row.kind === "thin") return thinMicroseconds(row, size, target);
  const product = productMicroseconds(row, size, splits, target);
  // The kernels of few rows wait for their operands alone.
  if (row.kind !== "tensor" && row.kind !== "hopper") return product;
  const results = resultsOf(row, size, splits, target);
  if (splits > 1 && !sumsInTeam(row)) {
    // Partial sums lie in rows of n: whole lines of them are in the model.
    const each = storeClocks[row.kind === "hopper" ? "team" : row.kind][size.n % 2 === 0 ? 2 : 1];
    const clocks = size.n % 8 === 0 ? 0 : results * each;
    return product + clocks / target.clocksPerMicrosecond;
  }
  // Stores, formulas and residuals of blocks that stay are in their model.
  if (row.kind === "hopper" && row.team === "none" && hasUsualEnds(row, size)) return product;
  const stores = storeClocks[row.kind === "tensor" ? "tensor" : "team"][size.storeWidth];
  const stored = product + (results * stores) / target.clocksPerMicrosecond;
  const kind = row.kind === "tensor" ? "tensor" : row.team === "sum" ? "team" : "staying";
  const formulas = results * activationClocksOf(kind, size.first);
  return stored + formulas / target.clocksPerMicrosecond + size.residualBytes / target.bandwidth.dram;
}

/** That a multiprocessor stores; a cluster's blocks store a part of what there is each. */
function resultsOf(
  row: TensorRow | HopperRow,
  size: GemmSize,
  splits: number,
  { multiprocessors }: PlanTarget,
): number {
  const perProcessor = Math.ceil(blocksOf(size, row.m, row.n, splits) / multiprocessors);
  if (splits === 1 || !sumsInTeam(row)) return perProcessor * row.m * row.n;
  return (perProcessor * Math.min(row.m, size.m) * Math.min(row.n, size.n)) / splits;
}

function productMicroseconds(row: CutRow, size: GemmSize, splits: number, target: PlanTarget): number {
  const { launchMicroseconds, clocksPerMicrosecond } = target;
  if (row.kind === "hopper")
    return launchMicroseconds + hopperRowClocks(row, size, splits, target) / clocksPerMicrosecond;
  const memory = dramClocks(size, target);
  const compute = computeClocks(row, size, splits, target);
  const measured = row.kind === "tensor" ? (row.measured[target.architecture] ?? 1) : 1;
  if (row.kind === "skinny")
    return launchMicroseconds + skinnyBehindLaunch(memory / streamOf(row, target), compute, target);
  const clocks = Math.max(measured * compute, Math.max(streamShare, measured) * memory);
  return launchMicroseconds + startMicroseconds + (clocks + measured * fillClocks) / clocksPerMicrosecond;
}

/**
 * Bytes that a multiprocessor loads in a clock for four rows, by the width of loads: of five products on an H200, two to four rows by 3648 to 20480 columns
 * (bench/measurements/h200-few-rows.jsonl). Where DRAM's share is less, that is what they wait for.
 */
const bytesPerClockOfFour = { wide: 12.2, pair: Infinity, one: 6.8 } as const;

/** Of a stream of weights at DRAM's rate, the share that loads keep up with. */
function streamOf({ along, load, rows }: SkinnyRow, { bytesPerClock }: PlanTarget): number {
  return along === "k" && rows > 1 ? Math.min(1, bytesPerClockOfFour[load] / bytesPerClock.dram) : 1;
}

/** Microseconds from which on weights are a stream, which begins and ends once: fewer come in the time that a first load takes anyhow. */
const streamFromMicroseconds = 1;

/**
 * Of few rows: loads that are waited for one after another, or a stream of weights. 40 products of squeeze and excitation, of embeddings and of classifiers on an
 * H100 within runs (bench/measurements/h100-few-rows.jsonl): 1x4x96 takes 1.9 us, 1x1000x2048 3 to 4.
 */
function skinnyBehindLaunch(memory: number, compute: number, { clocksPerMicrosecond }: PlanTarget): number {
  const bytes = (streamShare * memory) / clocksPerMicrosecond;
  const start =
    Math.min(1, bytes / streamFromMicroseconds) * (startMicroseconds + fillClocks / clocksPerMicrosecond);
  return Math.max(compute / clocksPerMicrosecond, bytes + start);
}

function hopperRowClocks(row: HopperRow, size: GemmSize, splits: number, target: PlanTarget): number {
  const memory = dramClocks(size, target);
  const stored = (size.outputBytes * size.storeFactor) / 2;
  const work = { ...size, splits, stored, rowClocks: 0 };
  if (row.team === "sum") return teamSumClocks(row, work, matrixSumRates, memory, target);
  if (splits === 1 && hasUsualEnds(row, size)) return hopperClocks(row, size, memory, target);
  const share = dramShareOf(blocksOf(size, row.m, row.n, splits), target);
  return Math.max(stayingClocks(row, work, hopperRates, target), memory / share);
}

function computeClocks(
  row: Exclude<CutRow, HopperRow>,
  size: GemmSize,
  splits: number,
  target: PlanTarget,
): number {
  switch (row.kind) {
    case "tensor":
      return tensorClocks(row, size, splits, target);
    case "simt":
      return simtClocks(row, size, splits, target);
    case "skinny":
      return skinnyClocks(row, size, splits, target);
  }
}

/** Everything read once and written once. */
function dramClocks({ m, n, k, batch, type, ...size }: GemmSize, target: PlanTarget): number {
  const bytes = elementBytes(type);
  const a = m * k * bytes * (size.sharedA ? 1 : batch);
  const b = n * k * bytes * (size.sharedB ? 1 : batch);
  return (a + b + m * n * batch * size.outputBytes) / (target.bytesPerClock.dram * target.multiprocessors);
}

/** Beside its launch, of the kernel that adds splits up; and what partial sums get of the cache's rate: as above, 65 products. */
const sumStartMicroseconds = 1.3;
const sumShare = 0.33;

/** Partial sums written and read again, in L2 where it holds them, and a second launch. */
export function splitMicroseconds(size: GemmSize, splits: number, target: PlanTarget): number {
  const bytes = 2 * splits * size.m * size.n * size.batch * 4;
  const latency = target.memoryLatencyClocks / target.clocksPerMicrosecond;
  const { l2, dram } = target.bandwidth;
  const rate = bytes / 2 <= target.l2Bytes ? sumShare * l2 : dram;
  return target.launchMicroseconds + sumStartMicroseconds + bytes / rate + latency;
}

function blocksOf(size: GemmSize, m: number, n: number, splits: number): number {
  return Math.ceil(size.m / m) * Math.ceil(size.n / n) * size.batch * splits;
}

/** Blocks that run at once on one multiprocessor. */
function residentBlocks(row: TensorRow, target: PlanTarget): number {
  const byShared = Math.floor(target.sharedBytes / (sharedBytesOf(row) + target.reservedSharedBytes));
  const byThreads = Math.floor(target.threads / threadsOf(row));
  return Math.max(1, Math.min(row.occupancy, byShared, byThreads));
}

function tensorClocks(row: TensorRow, size: GemmSize, splits: number, target: PlanTarget): number {
  const resident = residentBlocks(row, target);
  const steps = Math.ceil(Math.ceil(size.k / splits) / row.k);
  const epilogue = epilogueClocks(row, size, target);
  const wave = (blocks: number) =>
    steps * stepClocksOf(row, size, blocks, steps, target) + blocks * epilogue + target.memoryLatencyClocks;
  return wavesOf(blocksOf(size, row.m, row.n, splits), resident, target, wave);
}

/** Full waves, and the last one with fewer blocks to a multiprocessor. */
function wavesOf(
  blocks: number,
  resident: number,
  target: PlanTarget,
  wave: (blocks: number) => number,
): number {
  const slots = target.multiprocessors * resident;
  const full = Math.floor(blocks / slots);
  const rest = blocks - full * slots;
  return full * wave(resident) + (rest === 0 ? 0 : wave(Math.ceil(rest / target.multiprocessors)));
}

/** One of `steps` tiles of k, of `blocks` blocks that share a multiprocessor. */
function stepClocksOf(
  row: TensorRow,
  size: GemmSize,
  blocks: number,
  steps: number,
  target: PlanTarget,
): number {
  const { flopPerClock, bytesPerClock, memoryLatencyClocks } = target;
  const isFloat = row.arithmetic === "tf32";
  const bytes = isFloat ? 4 : 2;
  const flops = 2 * row.m * row.n * row.k;
  const multiply = flops / (isFloat ? flopPerClock.tf32 : flopPerClock.half);
  const fragments = (threadsOf(row) / 32) * (row.warpM + row.warpN) * row.k * bytes;
  const writes = row.k * bytes * (row.m * writeCost(row, size.aGrain) + row.n * writeCost(row, size.bGrain));
  const shared = (fragments + writes) / 128;
  const fetch = stageBytes(row) / bytesPerClock.l2;
  const inFlight = Math.max(1, row.stages - 1);
  const latency = row.odd ? memoryLatencyClocks : memoryLatencyClocks / inFlight;
  return Math.max(
    blocks * multiply * 1.05,
    blocks * shared * 1.1,
    blocks * fetch,
    multiply + stepClocks,
    latency,
    isStream(row, size) ? (streamLatencyClocks / inFlight) * Math.max(0, 1 - inFlight / steps) : 0,
  );
}

/** Whether no other block reads what one reads of the larger operand. */
function isStream(row: TensorRow, { m, n }: GemmSize): boolean {
  return m <= row.m || n <= row.n;
}

/** Small copies take as many instructions as large ones. */
function writeCost(row: TensorRow, grain: number): number {
  return row.odd ? 6 : 16 / grain;
}

/** Of a tile's results, through shared memory. */
export function epilogueClocks(
  row: Pick<TensorRow, "m" | "n">,
  size: Pick<GemmSize, "outputBytes" | "storeFactor">,
  { bytesPerClock }: PlanTarget,
): number {
  const staged = (row.m * row.n * 4 * 3) / 128;
  return staged + (row.m * row.n * size.outputBytes * size.storeFactor) / bytesPerClock.l2 + 200;
}

function simtClocks(row: SimtRow, size: GemmSize, splits: number, target: PlanTarget): number {
  const { flopPerClock, memoryLatencyClocks } = target;
  const steps = Math.ceil(Math.ceil(size.k / splits) / row.k);
  const multiply = (2 * row.m * row.n * row.k) / (flopPerClock.cuda * row.efficiency);
  const wave = (blocks: number) => steps * Math.max(blocks * multiply, multiply + 400) + memoryLatencyClocks;
  return wavesOf(blocksOf(size, row.m, row.n, splits), row.occupancy, target, wave);
}

/** Instructions of a thread that halves the sums which its lanes have of a short column: choices, a shuffle, an addition. */
const halvingInstructions = 4;

/** Of a short column that is no such: from one load of a lane to the next (bench/measurements/h200-few-rows.jsonl). */
const shortRoundClocks = 2400;

/** Loads in flight bound it: four of each lane at a time, or one of each short column. */
function skinnyClocks(row: SkinnyRow, size: GemmSize, splits: number, target: PlanTarget): number {
  const { flopPerClock, bytesPerClock, memoryLatencyClocks } = target;
  const { columns, threads, width, lanes } = skinnyShape(row, size.type);
  const isShort = row.along === "short";
  const perRound = (row.along === "n" ? threads / lanes : lanes * width) * (isShort ? 1 : 4);
  const rounds = Math.ceil(Math.ceil(size.k / splits) / perRound);
  const resident = Math.floor(target.threads / threads / (row.rows > 1 ? 2 : 1));
  const bytes = elementBytes(size.type);
  // Every element of b is converted and multiplied by each row.
  const perBlock =
    columns * perRound * Math.max(bytes / bytesPerClock.dram, (2 * row.rows + 3) / flopPerClock.cuda);
  const halving = isShort
    ? (columns * row.rows * (lanes - 1) * halvingInstructions * 2) / flopPerClock.cuda
    : 0;
  const more = isShort ? shortRoundClocks : memoryLatencyClocks * 0.8;
  const wave = (blocks: number) =>
    Math.max(blocks * perBlock, memoryLatencyClocks * 0.8) +
    (rounds - 1) * Math.max(blocks * perBlock, more) +
    blocks * halving +
    memoryLatencyClocks;
  return wavesOf(blocksOf(size, row.rows, columns, splits), resident, target, wave);
}
