/** @file Depthwise kernels on Tensor Cores, and what their blocks may be. */
import { sectorBytes } from "../../cost/cache-lines.ts";
import type { Candidate } from "../../cost/candidate.ts";
import { passMicroseconds } from "../../cost/predict.ts";
import type { Dim3, PlanTarget } from "../../ir/step.ts";
import {
  type DepthwiseChoice,
  type DepthwiseProblem,
  type DiagonalBlocks,
  type DiagonalRow,
  tileCount,
} from "./problem.ts";

/**
 * Taps, stride, rows of a unit, blocks. 7 rows: they divide 56, 28, 14 and 7. Of 3 and 5 taps these kernels were faster by themselves on an H100 (144 channels
 * of 56², batch 32, 27 µs instead of 46) and slower in models: a launch's blocks take the shared memory in which the next one's would stand ready (MobileNet V2
 * at batch 32 703 µs instead of 658, EfficientNet-B0 1214 instead of 1138, in one process). Of 7, ConvNeXt 1850 instead of 1917.
 */
const rows: readonly (readonly [number, number, number, number])[] = [
  [7, 1, 4, 2],
  [7, 1, 7, 2],
  [7, 2, 4, 2],
  [7, 2, 7, 2],
];

export const diagonalRows: readonly DiagonalRow[] = rows.map(([taps, stride, high, blocks]) => ({
  ...{ taps, stride, high, blocks },
}));

/** Channels that a warp makes, columns of its unit, and threads that the kernels are compiled for. */
export const warpChannels = 8;
export const unitColumns = 8;
const maxThreads = 256;
/** Of x that a thread copies at once. */
export const chunkBytes = 16;

/** A warp for every 8 channels, and one that copies a ring's tiles. */
export function diagonalBlock({ vector, diagonal }: DepthwiseChoice): Dim3 {
  return [(vector / warpChannels + (diagonal?.ring === undefined ? 0 : 1)) * 32, 1, 1];
}

interface Shape {
  readonly row: DiagonalRow;
  /** Of 8 channels. */
  readonly chunks: number;
  readonly wide: number;
  readonly high: number;
  readonly pitch: number;
  readonly sharedBytes: number;
}

/** Those of one problem, in no order. */
export function diagonalCandidates(
  problem: DepthwiseProblem,
  target: PlanTarget,
): Candidate<DepthwiseChoice>[] {
  if (!target.features.bf16 || !takesDiagonals(problem)) return [];
  const { kernel, stride } = problem;
  return diagonalRows
    .filter((row) => row.taps === kernel[2] && row.stride === stride[2])
    .flatMap((row) => shapesOf(row, problem))
    .flatMap((shape) => launchesOf(shape, problem, target))
    .map((launch) => ({
      launch: launch.choice,
      microseconds: microsecondsOf(launch, problem, target),
    }));
}

export function takesDiagonals({
  type,
  isPlain,
  channels,
  filters,
  kernel,
  stride,
  dilation,
  ...rest
}: DepthwiseProblem) {
  const { alignment, width, size } = rest;
  const isSquare = kernel[0] === 1 && size[0] === 1 && kernel[1] === kernel[2] && stride[1] === stride[2];
  const isDilated = dilation[1] > 1 || dilation[2] > 1;
  const isAligned = channels % warpChannels === 0 && alignment >= chunkBytes && width >= warpChannels;
  return type !== "float32" && isPlain && channels === filters && isSquare && !isDilated && isAligned;
}

/** Planes in equal parts, along either axis; all channels in equal parts. */
function shapesOf(row: DiagonalRow, { channels, size }: DepthwiseProblem): Shape[] {
  const groups = channels / warpChannels;
  const chunkCounts = Array.from({ length: maxThreads / 32 }, (_, i) => i + 1).filter(
    (n) => groups % n === 0,
  );
  const wides = partsOf(size[2], unitColumns);
  const highs = partsOf(size[1], row.high);
  return chunkCounts.flatMap((chunks) =>
    wides.flatMap((wide) => highs.map((high) => shapeOf(row, chunks, wide, high))),
  );
}

/** Sizes of 1, 2, 3, … equal parts of `size`, rounded up to whole `unit`s. */
export function partsOf(size: number, unit: number): number[] {
  const units = Math.ceil(size / unit);
  const sizes = Array.from({ length: units }, (_, i) => Math.ceil(units / (i + 1)) * unit);
  return [...new Set(sizes)];
}

function shapeOf(row: DiagonalRow, chunks: number, wide: number, high: number): Shape {
  const { taps, stride } = row;
  // Odd: eight positions that follow each other lie in different banks.
  const pitch = (chunks % 2 === 0 ? chunks + 1 : chunks) * chunkBytes;
  const columns = stride === 1 ? wide + taps - 1 : 2 * (wide + (taps - 1) / 2);
  const sharedBytes = ((high - 1) * stride + taps) * columns * pitch;
  return { row, chunks, wide, high, pitch, sharedBytes };
}

interface ShapeLaunch {
  readonly shape: Shape;
  readonly choice: DepthwiseChoice;
  /** Tiles that a multiprocessor computes, one after another or beside each other, and blocks that it holds. */
  readonly tilesEach: number;
  readonly resident: number;
}

/** A block for every tile; and blocks that stay and have two tiles in shared memory, where there are more than stay. */
function launchesOf(shape: Shape, problem: DepthwiseProblem, target: PlanTarget): ShapeLaunch[] {
  const { chunks, sharedBytes: stage } = shape;
  const pieces = problem.channels / (chunks * warpChannels);
  const tiles = tileCount(shape, problem);
  const all = tiles * pieces;
  const single = residentOf(shape, stage, target);
  const double = residentOf(shape, 2 * stage, target);
  const rounds = double === 0 ? 1 : Math.ceil(tiles / Math.floor((double * target.multiprocessors) / pieces));
  const found: ShapeLaunch[] = [];
  if (single > 0) {
    const tilesEach = Math.ceil(all / target.multiprocessors);
    const choice = choiceOf(shape, stage, { blocks: all, pitch: shape.pitch, stage: 0 });
    found.push({ shape, choice, tilesEach, resident: single });
  }
  if (rounds > 1 && Number.isFinite(rounds)) {
    const blocks = Math.ceil(tiles / rounds) * pieces;
    const tilesEach = Math.ceil(blocks / target.multiprocessors) * rounds;
    const choice = choiceOf(shape, 2 * stage, { blocks, pitch: shape.pitch, stage });
    found.push({ shape, choice, tilesEach, resident: double });
  }
  return found;
}

/** Blocks that one multiprocessor holds. */
function residentOf({ row, chunks }: Shape, sharedBytes: number, target: PlanTarget): number {
  if (sharedBytes > target.sharedBytesPerBlock) return 0;
  const byShared = Math.floor(target.sharedBytes / (sharedBytes + target.reservedSharedBytes));
  return Math.min(byShared, Math.floor(Math.min(target.threads, row.blocks * maxThreads) / (32 * chunks)));
}

function choiceOf(
  { row, chunks, wide, high }: Shape,
  sharedBytes: number,
  diagonal: DiagonalBlocks,
): DepthwiseChoice {
  return {
    suffix: `diagonal_k${row.taps}s${row.stride}_${row.high}`,
    ...{ row, vector: chunks * warpChannels, wide, high },
    ...{ block: undefined, diagonal, sharedBytes },
  };
}

/**
 * What an H100 takes over what is counted below: where a multiprocessor makes more tiles than it holds (158 launches of batch 32), and where it does not (48 of
 * batch 1; bench/measurements/h100-depthwise.jsonl).
 */
const measuredOverCounted = { many: 1.75, once: 1 } as const;
/** From a block's first copy to its last store, beside what it computes (estimated). */
const blockClocks = 3500;

/** What blocks read beyond x itself comes from the L2, in whole sectors. What the first or only tiles compute is not hidden. */
function microsecondsOf(launch: ShapeLaunch, problem: DepthwiseProblem, target: PlanTarget): number {
  const { shape, choice, tilesEach, resident } = launch;
  const { among, alone } = computeClocks(shape);
  const rounds = Math.ceil(tilesEach / resident);
  const trips = choice.diagonal?.stage === 0 ? rounds : 1;
  const clocks = Math.max(tilesEach * among, rounds * alone);
  const busy = Math.max(clocks, trips * blockClocks + alone) / target.clocksPerMicrosecond;
  const exposed = clocks / (2 * rounds * target.clocksPerMicrosecond);
  const again = bytesAgain(shape, problem) / target.bandwidth.l2;
  const memory = problem.bytes / target.bandwidth.dram + again;
  const counted =
    passMicroseconds({ bytes: problem.bytes }, target) + again + exposed + Math.max(0, busy - memory);
  return measuredOverCounted[rounds > 1 ? "many" : "once"] * counted;
}

/** Clocks between two instructions of one warp (estimated): it waits for products and for shared memory. */
const warpClocks = 2.5;

/**
 * Of one block beside others on its multiprocessor: the busiest of Tensor Cores, shared memory and issue; and by itself, since a
 * warp does its units one after another.
 */
function computeClocks({ row, chunks, wide, high, pitch }: Shape): { among: number; alone: number } {
  const { taps, stride } = row;
  const pairs = (taps - 1) / 2;
  const steps = Math.ceil(((high / row.high) * (wide / unitColumns)) / 2);
  const seen = (row.high - 1) * stride + taps;
  const instructions = row.high * taps * (pairs + 1) + 2 * seen * (pairs + 1) + 32 * row.high + 60;
  const tensor = 0.85 * row.high * taps * (pairs + 0.5);
  const shared = seen * (4 * pairs + 2) + 2 * row.high;
  const positions = ((high - 1) * stride + taps) * ((wide - 1) * stride + taps) + high * wide;
  const copies = (((positions * pitch) / chunkBytes) * 3) / 32;
  return {
    among: chunks * steps * Math.max(tensor, shared, instructions / 4) + copies,
    alone: steps * instructions * warpClocks + copies,
  };
}

/** Of x, what lies around tiles, and what sectors have beside a block's channels. */
function bytesAgain(shape: Shape, { batch, channels, size, ...problem }: DepthwiseProblem): number {
  const { row, chunks, wide, high } = shape;
  const tiles = tileCount(shape, { ...problem, batch, channels, size });
  const seen = ((high - 1) * row.stride + row.taps) * ((wide - 1) * row.stride + row.taps);
  const sectors = Math.ceil((chunks * chunkBytes) / sectorBytes);
  const read = tiles * seen * (channels / (chunks * warpChannels)) * sectors * sectorBytes;
  const once = batch * size[1] * size[2] * row.stride ** 2 * channels * (chunkBytes / warpChannels);
  return Math.max(0, read - once);
}
