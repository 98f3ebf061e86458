/** @file Depthwise kernels on Hopper's Tensor Cores, whose tiles come by TMA (depthwise-hopper.cu), and what their blocks may be. */
import { beside } from "../../cost/beside.ts";
import type { Candidate } from "../../cost/candidate.ts";
import type { ActivationKind } from "../../ir/epilogue.ts";
import type { PlanTarget } from "../../ir/step.ts";
import { chunkBytes, partsOf, takesDiagonals, unitColumns, warpChannels } from "./diagonal.ts";
import {
  type DepthwiseChoice,
  type DepthwiseProblem,
  type Ring,
  type RingRow,
  tileCount,
} from "./problem.ts";

/** Taps, stride, rows of a unit, registers. */
const rows: readonly (readonly [number, number, number, number])[] = [
  [3, 1, 4, 80],
  [3, 1, 7, 96],
  [3, 2, 4, 80],
  [3, 2, 7, 96],
  [5, 1, 4, 96],
  [5, 1, 7, 128],
  [5, 2, 4, 96],
  [5, 2, 7, 128],
  [7, 1, 4, 128],
  [7, 1, 7, 128],
  [7, 2, 4, 128],
  [7, 2, 7, 128],
];

export const ringRows: readonly RingRow[] = rows.map(([taps, stride, high, registers]) => ({
  ...{ taps, stride, high, registers },
}));

/**
 * 8 channels a warp, of a block, beside which one more warp copies: rows of 64 or 128 bytes, which TMA brings fast and swizzles. Rows of 16 or 48 bytes took
 * twice as long on an H100.
 */
const chunkCounts = [2, 4, 8] as const;
const mostStages = 8;
const barrierBytes = 2 * 8 * mostStages;
/** Registers of a quarter of a multiprocessor, whose warps have theirs there. */
const registersOfQuarter = 16_384;
/** Of a tile, in units along the height, and in columns: larger ones fill their ring too slowly. */
const mostUnits = 4;
const mostColumns = 64;
/** Of a box along an axis. */
const mostOfBox = 256;

interface Shape {
  readonly row: RingRow;
  readonly chunks: number;
  readonly wide: number;
  readonly high: number;
  readonly ring: Omit<Ring, "stages">;
  readonly stageBytes: number;
  readonly slackBytes: number;
}

/** Those of one problem, in no order. */
export function ringCandidates(problem: DepthwiseProblem, target: PlanTarget): Candidate<DepthwiseChoice>[] {
  if (!target.features.wgmma || !problem.isWalkable || !takesDiagonals(problem)) return [];
  const { kernel, stride } = problem;
  return ringRows
    .filter((row) => row.taps === kernel[2] && row.stride === stride[2])
    .flatMap((row) => shapesOf(row, problem))
    .flatMap((shape) => launchesOf(shape, problem, target))
    .map((launch) => ({ launch: launch.choice, microseconds: microsecondsOf(launch, problem, target) }));
}

/** Planes in equal parts, along either axis. The last channels of an image may be fewer than a block's: TMA brings zeros for them. */
function shapesOf(row: RingRow, { channels, size }: DepthwiseProblem): Shape[] {
  const groups = channels / warpChannels;
  const counts = chunkCounts.filter((chunks) => (chunks === 2 ? groups <= 2 : chunks < 2 * groups));
  const wides = partsOf(size[2], unitColumns).filter((wide) => wide <= mostColumns);
  const highs = partsOf(size[1], row.high).filter((high) => high <= mostUnits * row.high);
  return counts.flatMap((chunks) =>
    wides.flatMap((wide) => highs.flatMap((high) => shapeOf(row, chunks, [wide, high], size[2]) ?? [])),
  );
}

function shapeOf(
  row: RingRow,
  chunks: number,
  [wide, high]: readonly [number, number],
  width: number,
): Shape | undefined {
  const { taps, stride } = row;
  // The swizzle begins anew at every eighth position.
  const seen = Math.min(wide, width) + Math.ceil((taps - 1) / stride);
  const across = roundedUp(Math.max(wide, seen), 8);
  const down = (high - 1) * stride + taps;
  if (across * stride > mostOfBox || down > mostOfBox) return undefined;
  const pitch = chunks * chunkBytes;
  const rowBytes = across * pitch;
  const planeBytes = roundedUp(down * rowBytes, 1024);
  // What columns behind the last one see lies in the next row, of the last row here.
  const slackBytes = Math.max(0, wide + taps - 1 - across) * pitch;
  return {
    ...{ row, chunks, wide, high, slackBytes, stageBytes: stride * planeBytes },
    ring: {
      ...{ across, down, rowBytes, oddBytes: planeBytes },
      shift: Math.log2(8 / chunks),
      mask: chunks - 1,
    },
  };
}

function roundedUp(size: number, unit: number): number {
  return Math.ceil(size / unit) * unit;
}

interface ShapeLaunch {
  readonly shape: Shape;
  readonly choice: DepthwiseChoice;
  /** Tiles that one block makes at most, and blocks that a multiprocessor holds. */
  readonly rounds: number;
  readonly resident: number;
}

/** As many blocks a multiprocessor as have room, and any fewer: those have more stages each. */
function launchesOf(shape: Shape, problem: DepthwiseProblem, target: PlanTarget): ShapeLaunch[] {
  const { row, chunks, stageBytes, slackBytes } = shape;
  const warps = 4 * Math.floor(registersOfQuarter / (32 * row.registers));
  const most = Math.floor(Math.min(warps, target.threads / 32) / (chunks + 1));
  const pieces = piecesOf(shape, problem);
  const tiles = tileCount(shape, problem);
  const found: ShapeLaunch[] = [];
  for (let resident = 1; resident <= most; resident++) {
    const room = Math.min(
      target.sharedBytesPerBlock,
      Math.floor(target.sharedBytes / resident) - target.reservedSharedBytes,
    );
    const side = Math.floor((resident * target.multiprocessors) / pieces);
    if (side === 0) continue;
    const rounds = Math.ceil(tiles / side);
    const stages = Math.min(mostStages, rounds, Math.floor((room - barrierBytes - slackBytes) / stageBytes));
    if (stages < Math.min(2, rounds)) break;
    const blocks = Math.ceil(tiles / rounds) * pieces;
    found.push({ shape, rounds, resident, choice: choiceOf(shape, stages, blocks) });
  }
  return found;
}

function piecesOf({ chunks }: Shape, { channels }: DepthwiseProblem): number {
  return Math.ceil(channels / (chunks * warpChannels));
}

function choiceOf(
  { row, chunks, wide, high, ring, stageBytes, slackBytes }: Shape,
  stages: number,
  blocks: number,
): DepthwiseChoice {
  return {
    suffix: `ring_k${row.taps}s${row.stride}_${row.high}`,
    ...{ row, vector: chunks * warpChannels, wide, high, block: undefined },
    diagonal: { blocks, pitch: chunks * chunkBytes, stage: stageBytes, ring: { ...ring, stages } },
    sharedBytes: stages * stageBytes + barrierBytes + slackBytes,
  };
}

// Fitted to 1,351 launches of 54 layers of batch 1, 8 and 32 on an H100: four in five are predicted within 10 %, and what is taken is 3 % behind the best
// (bench/measurements/h100-depthwise.jsonl).

/** From a launch until all that is alike for its tiles is done, beside the launch itself. */
const startMicroseconds = 0.2;
/** Of Tensor Cores, for two taps; of an instruction, among other warps. */
const productClocks = 4.29;
const instructionClocks = 1.28;
/** Of a warp by itself: its tile, a row of x, two taps of a row; and of each further warp that a tile waits for. */
const aloneClocks = { tile: 480, row: 52, product: 6.7, warp: 29 } as const;
/** Of TMA, for a position of a block's channels; from a tile's stores until the next one is there. */
const positionClocks = 2.66;
const refillClocks = 3370;
/** Of the activation of one result; limits are made of two at a time, and are in what a result takes. */
const formulaInstructions: Readonly<Partial<Record<ActivationKind, number>>> = {
  ...{ none: 0, relu: 0, clip: 0 },
  hardSwish: 5,
};
const otherInstructions = 7;
/** Of what boxes bring of x once more, from the L2. */
const againShare = 0.5;
/** What is exposed: of the last tile's work, and of the time that the first tiles take from DRAM. */
const lastShare = 0.2;
const firstShare = 0.69;
/** What memory, products and copies take beside each other: the larger one, and something of the others. */
const besideExponent = 8.9;

function microsecondsOf(launch: ShapeLaunch, problem: DepthwiseProblem, target: PlanTarget): number {
  const { shape, choice, rounds, resident } = launch;
  const { bandwidth, clocksPerMicrosecond, multiprocessors } = target;
  const blocks = choice.diagonal?.blocks ?? 1;
  const stages = choice.diagonal?.ring?.stages ?? 1;
  const each = Math.ceil(blocks / multiprocessors);
  const tile = tileClocks(shape, Math.min(resident, each), problem);
  const cycle = rounds > stages ? Math.max(tile, (refillClocks + tile) / stages) : tile;
  const memory = problem.bytes / bandwidth.dram + (againShare * bytesAgain(shape, problem)) / bandwidth.l2;
  const products = (rounds * cycle) / clocksPerMicrosecond;
  const copies = (rounds * each * positionsOf(shape) * positionClocks) / clocksPerMicrosecond;
  const first = (firstShare * blocks * filledBytesOf(shape)) / bandwidth.dram;
  const exposed = first + (lastShare * tile) / clocksPerMicrosecond;
  const busy = beside([memory, products, copies], besideExponent);
  return target.launchMicroseconds + startMicroseconds + busy + exposed;
}

/** Of blocks that share a multiprocessor, a tile each. */
function tileClocks({ row, chunks, wide, high }: Shape, blocks: number, problem: DepthwiseProblem): number {
  const { taps, stride } = row;
  const across = Math.min(wide, problem.size[2]);
  const down = Math.min(high, problem.size[1]);
  const units = Math.ceil((Math.ceil(down / row.high) * Math.ceil(across / unitColumns)) / 2);
  const seen = (row.high - 1) * stride + taps;
  const pairs = Math.floor(taps / 2);
  const products = row.high * taps * (pairs + 0.5);
  const results = row.high * 4;
  const end = results * (formulaInstructions[problem.activation] ?? otherInstructions);
  const instructions = 2 * seen * (pairs + 1) + row.high * taps * (pairs + 1) + 6 * results + end + 40;
  const among = Math.max(products * productClocks, instructions * instructionClocks) / 4;
  const { tile, row: rowClocks, product, warp } = aloneClocks;
  const own = seen * rowClocks + row.high * taps * pairs * product + end;
  return tile + warp * (chunks - 4) + units * (own + among * chunks * blocks);
}

function positionsOf({ row, wide, high, ring }: Shape): number {
  return ring.across * ring.down * row.stride + wide * high;
}

/** Bytes of a tile of x. */
function filledBytesOf({ row, chunks, ring }: Shape): number {
  return ring.across * ring.down * row.stride * chunks * chunkBytes;
}

/** Of x, beyond itself: what boxes have around their tiles, and in columns that no tap sees. */
function bytesAgain({ row, wide, high, ring }: Shape, { batch, channels, size }: DepthwiseProblem): number {
  const perResult = row.stride ** 2;
  const columns = Math.min(ring.across * row.stride, (size[2] - 1) * row.stride + row.taps);
  const brought = (columns * ring.down) / (Math.min(wide, size[2]) * high * perResult);
  return Math.max(0, brought - 1) * perResult * batch * size[1] * size[2] * channels * 2;
}
