/** @file The depthwise kernels, and which of them a convolution gets. */
import { beside } from "../../cost/beside.ts";
import { sectorBytes } from "../../cost/cache-lines.ts";
import { type Candidate, cheapest } from "../../cost/candidate.ts";
import { passMicroseconds } from "../../cost/predict.ts";
import type { PlanTarget } from "../../ir/step.ts";
import { bytesOfType } from "../../ir/storage.ts";
import { elementCount } from "../../ir/view.ts";
import { diagonalCandidates } from "./diagonal.ts";
import { type DepthwiseChoice, type DepthwiseProblem, type TileRow, tileCount } from "./problem.ts";
import { ringCandidates } from "./ring.ts";

interface TileShape extends DepthwiseChoice {
  readonly block: readonly [number, number];
}

/** 7 along the width: it divides 56, 28, 14 and 7, and loses little of anything longer. */
const rows: readonly (readonly [number, number, number, number, number, number])[] = [
  [3, 1, 7, 4, 2, 4],
  [3, 1, 7, 2, 2, 5],
  [3, 1, 4, 1, 3, 5],
  [3, 1, 2, 1, 3, 6],
  [5, 1, 7, 4, 1, 4],
  [5, 1, 7, 2, 1, 5],
  [5, 1, 4, 1, 3, 5],
  [5, 1, 2, 1, 4, 5],
  [7, 1, 7, 4, 1, 4],
  [7, 1, 7, 2, 1, 4],
  [7, 1, 4, 1, 3, 4],
  [7, 1, 2, 1, 4, 5],
  [3, 2, 7, 2, 1, 4],
  [3, 2, 4, 1, 2, 5],
  [3, 2, 2, 1, 3, 6],
  [5, 2, 7, 2, 1, 4],
  [5, 2, 4, 1, 2, 4],
  [5, 2, 2, 1, 4, 5],
  [7, 2, 7, 2, 1, 4],
  [7, 2, 4, 1, 2, 4],
  [7, 2, 2, 1, 4, 5],
];

export const tileRows: readonly TileRow[] = rows.map(([taps, stride, wide, high, ahead, blocks]) => ({
  ...{ taps, stride, wide, high },
  ...{ ahead, blocks },
}));

/** Of a block: what the kernels are compiled for. */
export const maxThreads = 128;
/** What every architecture gives a block without being asked. */
const sharedBytesPerBlock = 49_152;

/** `accepts` narrows the choice among kernels of the tables, for measurements and tests. */
export function chooseDepthwise(
  problem: DepthwiseProblem,
  target: PlanTarget,
  accepts?: (choice: DepthwiseChoice) => boolean,
): Candidate<DepthwiseChoice> {
  return cheapest(depthwiseCandidates(problem, target, accepts)) ?? untiled(problem, target);
}

/** Kernels of the tables where there are any, else the one kernel without. */
export function depthwiseCandidates(
  problem: DepthwiseProblem,
  target: PlanTarget,
  accepts?: (choice: DepthwiseChoice) => boolean,
): Candidate<DepthwiseChoice>[] {
  const rings = ringCandidates(problem, target);
  // Rings are their successors: faster in 53 of 54 layers that an H100 made of both.
  const hasDiagonals = rings.length === 0 || accepts !== undefined;
  const all = [
    ...tileCandidates(problem, target),
    ...(hasDiagonals ? diagonalCandidates(problem, target) : []),
    ...rings,
  ];
  const accepted = accepts === undefined ? all : all.filter(({ launch }) => accepts(launch));
  return accepted.length > 0 ? accepted : [untiled(problem, target)];
}

/** Tiles whose kernel knows taps and stride along the width. */
function tileCandidates(problem: DepthwiseProblem, target: PlanTarget): Candidate<DepthwiseChoice>[] {
  const { type, channels, filters, kernel, stride, dilation, alignment, width } = problem;
  const bytes = bytesOfType(type);
  const isPaired = channels === filters && channels % 2 === 0 && alignment >= 2 * bytes && width >= 2;
  const isDilated = dilation[1] > 1 || dilation[2] > 1;
  if (!isPaired || isDilated) return [];
  return tileRows
    .filter((row) => row.taps === kernel[2] && row.stride === stride[2])
    .flatMap((row) => {
      const launch = tileShape(row, problem);
      if (launch === undefined) return [];
      return [{ launch, microseconds: tileMicroseconds(row, launch, problem, target) }];
    });
}

/** Runs of 16 bytes of channels, else single ones. What they wait for is not modelled: for what no tile takes. */
function untiled(problem: DepthwiseProblem, target: PlanTarget): Candidate<DepthwiseChoice> {
  const { type, channels, filters, alignment, width, batch, size, kernel, bytes } = problem;
  const vector = 16 / bytesOfType(type);
  const isWide = channels === filters && channels % vector === 0 && alignment >= 16 && width >= vector;
  const common = { row: undefined, high: 1, block: undefined, sharedBytes: 0 };
  const products = filters * batch * elementCount(size) * elementCount(kernel);
  return {
    launch: isWide
      ? { suffix: "any", vector, wide: 2, ...common }
      : { suffix: "single", vector: 1, wide: 4, ...common },
    microseconds: passMicroseconds({ bytes, instructions: products * untiledInstructions }, target),
  };
}

function tileShape(row: TileRow, problem: DepthwiseProblem): TileShape | undefined {
  const { taps, stride, wide, high } = row;
  const { type, channels, kernel } = problem;
  const bytesPerLane = kernel[0] * kernel[1] * Math.ceil(taps / 2) * 16;
  const lanes = lanesOf(channels / 2, 2 * bytesOfType(type), Math.floor(sharedBytesPerBlock / bytesPerLane));
  if (lanes === 0) return undefined;
  return {
    suffix: `k${taps}s${stride}_${wide}x${high}`,
    ...{ row, vector: 2, wide, high },
    block: [lanes, Math.floor(maxThreads / lanes)],
    sharedBytes: bytesPerLane * lanes,
  };
}

/** Lanes of a block along `pairs` of channels: few idle ones, and whole sectors of memory where that costs little. */
function lanesOf(pairs: number, pairBytes: number, limit: number): number {
  const most = Math.min(pairs, 64, limit);
  let [best, bestScore] = [0, 0];
  for (let lanes = Math.min(most, 16); lanes <= most; lanes++) {
    const threads = lanes * Math.floor(maxThreads / lanes);
    const busy = (pairs / (Math.ceil(pairs / lanes) * lanes)) * (threads / (Math.ceil(threads / 32) * 32));
    const score = (lanes * pairBytes) % sectorBytes === 0 || lanes === pairs ? busy : 0.9 * busy;
    if (score >= bestScore) [best, bestScore] = [lanes, score];
  }
  return best;
}

/** Of one multiply-add outside of tiles: what an H200 took, waiting for loads included. */
const untiledInstructions = 12;
// Fitted to 143 launches of 36 layers of batch 1, 8 and 32 on an H100, seven in ten of which it predicts within 10 % (h100-depthwise.jsonl).

/** Beside the launch. */
const startMicroseconds = 0.54;
/** Clocks between two instructions: of all warps of a quarter of a multiprocessor, and of one that waits for its loads. */
const issueClocks = 0.7;
const waitingClocks = 3.24;
/** Of what neighbouring tiles read again, which is mostly in the L1. */
const againShare = 0.42;
/** What instructions, waits and memory take beside each other is little less than their sum. */
const besideExponent = 1.1;

function tileMicroseconds(
  row: TileRow,
  choice: TileShape,
  problem: DepthwiseProblem,
  target: PlanTarget,
): number {
  const { multiprocessors, sharedBytes, reservedSharedBytes, bandwidth, clocksPerMicrosecond } = target;
  const { channels, kernel, stride, type, size, batch } = problem;
  const [lanes, tiles] = choice.block;
  const blocks = Math.ceil(channels / 2 / lanes) * Math.ceil(tileCount(choice, problem) / tiles);
  const perMultiprocessor = Math.ceil(blocks / multiprocessors);
  const byShared = Math.floor(sharedBytes / (choice.sharedBytes + reservedSharedBytes));
  const fullBlocks = row.blocks - (type === "float32" ? 1 : 0);
  const resident = Math.min(Math.floor((fullBlocks * maxThreads) / (lanes * tiles)), byShared);
  const instructions = instructionsOf(row, problem);
  const issue = (perMultiprocessor * Math.ceil((lanes * tiles) / 32) * instructions * issueClocks) / 4;
  const waiting = Math.ceil(perMultiprocessor / resident) * instructions * waitingClocks;
  const seen = ((row.high - 1) * stride[1] + kernel[1]) * ((row.wide - 1) * row.stride + row.taps);
  const again = seen / (row.high * row.wide) - stride[1] * row.stride;
  const bytesAgain = again * batch * elementCount(size) * channels * bytesOfType(type) * againShare;
  const memory = problem.bytes / bandwidth.dram + bytesAgain / bandwidth.l2;
  const times = [issue / clocksPerMicrosecond, waiting / clocksPerMicrosecond, memory];
  return target.launchMicroseconds + startMicroseconds + beside(times, besideExponent);
}

/** Of one thread. */
function instructionsOf({ taps, stride, wide, high }: TileRow, problem: DepthwiseProblem): number {
  const { kernel, type } = problem;
  const columns = (wide - 1) * stride + taps;
  const rows = (high - 1) * problem.stride[1] + kernel[1];
  // A load, its address and its condition; two conversions of halves.
  const reads = rows * columns * (type === "float32" ? 3 : 5);
  const weights = kernel[1] * high * 2 * Math.ceil(taps / 2);
  const products = kernel[1] * high * wide * taps * 2;
  // Scale, activation, conversion and store, and the sums that move up.
  const stores = high * wide * (16 + 2 * (high - 1));
  return 150 + kernel[0] * (reads + weights + products) + stores;
}
