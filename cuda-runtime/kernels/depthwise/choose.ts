/** @file The depthwise kernels, and which of them a convolution gets. */
import { sectorBytes } from "../../cost/cache-lines.ts";
import { type Candidate, cheapest } from "../../cost/candidate.ts";
import { passMicroseconds } from "../../cost/predict.ts";
import type { PlanTarget } from "../../ir/step.ts";
import { bytesOfType } from "../../ir/storage.ts";
import { elementCount } from "../../ir/view.ts";
import { diagonalCandidates } from "./diagonal.ts";
import { type DepthwiseChoice, type DepthwiseProblem, type TileRow, tileCount } from "./problem.ts";

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
  accepts: (choice: DepthwiseChoice) => boolean = () => true,
): Candidate<DepthwiseChoice>[] {
  const all = [...tileCandidates(problem, target), ...diagonalCandidates(problem, target)];
  const accepted = all.filter(({ launch }) => accepts(launch));
  return accepted.length > 0 ? accepted : [untiled(problem, target)];
}

/**
 * Tiles whose kernel knows taps and stride along the width. Those that wait for memory alone take the same time: first come
 * those that keep the GPU busy the shortest.
 */
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
      return launch === undefined ? [] : [{ launch, clocks: tileClocks(row, launch, problem, target) }];
    })
    .toSorted((a, b) => a.clocks - b.clocks)
    .map(({ launch, clocks }) => {
      const busy = clocks / target.clocksPerMicrosecond;
      return { launch, microseconds: Math.max(busy, passMicroseconds({ bytes: problem.bytes }, target)) };
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

/**
 * What an H200 takes for tiles over what their instructions and waits are counted as (bench/results/gpu-conv.json); and an H100 where a multiprocessor has no
 * more blocks than run at once, as at batch 1 (87 launches of bench/measurements/h100-model-steps.jsonl).
 */
const measuredOverCounted = { many: 1.9, once: 1.4 } as const;
/** Of one multiply-add outside of tiles: what an H200 took, waiting for loads included. */
const untiledInstructions = 12;
/** Of a trip to memory while others make theirs, and of all that a thread does once. */
const tripClocks = 600;
const fixedClocks = 2000;

/** What tells the tiles of one convolution apart: instructions, and waves of blocks that wait for memory. */
function tileClocks(
  row: TileRow,
  choice: TileShape,
  problem: DepthwiseProblem,
  { multiprocessors, sharedBytes, reservedSharedBytes }: PlanTarget,
): number {
  const { channels, kernel, stride, type } = problem;
  const [lanes, tiles] = choice.block;
  const blocks = Math.ceil(channels / 2 / lanes) * Math.ceil(tileCount(choice, problem) / tiles);
  const perMultiprocessor = Math.ceil(blocks / multiprocessors);
  const byShared = Math.floor(sharedBytes / (choice.sharedBytes + reservedSharedBytes));
  const fullBlocks = row.blocks - (type === "float32" ? 1 : 0);
  const resident = Math.min(Math.floor((fullBlocks * maxThreads) / (lanes * tiles)), byShared);
  const instructions = instructionsOf(row, problem);
  const issue = (perMultiprocessor * Math.ceil((lanes * tiles) / 32) * instructions) / (4 * 0.8);
  const seen = kernel[0] * ((row.high - 1) * stride[1] + kernel[1]);
  const thread = fixedClocks + Math.ceil(seen / row.ahead) * tripClocks + 1.3 * instructions;
  const waves = Math.ceil(perMultiprocessor / resident);
  return measuredOverCounted[waves > 1 ? "many" : "once"] * Math.max(issue, waves * thread);
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
