/** @file Predicted time of attention by one tile: what the tile is chosen by, and what the plan prints. */

import { passMicroseconds } from "../../cost/predict.ts";
import type { PlanTarget } from "../../ir/step.ts";
import type { AttentionSize, HopperForm, TensorTile } from "./tiles.ts";

export interface AttentionWork extends AttentionSize {
  /** Of queries, keys, values and masks; and of results. */
  readonly inputBytes: number;
  readonly outputBytes: number;
  /** Floats that a split leaves of a query: a row of sums, its largest score, the sum of its weights. */
  readonly partialFloats: number;
  /** Each query sees the keys up to its own position only. */
  readonly isCausal: boolean;
}

/** Beside the launch, until a block's first step and from its last one: bench/results/gpu-attention.json, on an H200. */
const blockMicroseconds = 2.5;
/** A step alone on its multiprocessor waits for memory and barriers: time over that of one among others. */
const aloneFactor = 1.8;
/**
 * Warps with keys of their own share no key that was read: time of their step over that of others alone; a block's filling and joining, and
 * what a wave of them waits before (bench/gpu/attention.ts on an H200, ten sizes).
 */
const apartFactor = 2;
const apartBlockMicroseconds = 1.2;
const apartWaveMicroseconds = 1.4;

/** Of the launch alone, without the sum of its splits. */
export function tileMicroseconds(
  work: AttentionWork,
  tile: TensorTile,
  splits: number,
  target: PlanTarget,
): number {
  if (tile.hopper !== undefined) return hopperMicroseconds(work, tile, tile.hopper, splits, target);
  const tiles = Math.ceil(work.queries / tile.queries);
  const blocks = work.blocks * tiles * splits;
  const steps = Math.ceil(work.keys / splits / tile.keys);
  // Blocks of late queries have all steps, and on average there are about half as many.
  const meanSteps = work.isCausal ? (steps * (tiles + 1)) / (2 * tiles) : steps;
  const perStep = stepMicroseconds(tile, target);
  const longest = steps * aloneFactor * perStep;
  const perProcessor = Math.ceil(blocks / target.multiprocessors);
  // Two blocks hide little of each other's waits, many nearly all.
  const waits = perProcessor === 1 ? 0 : (2 * (aloneFactor - 1) * meanSteps * perStep) / perProcessor;
  const together = perProcessor * (meanSteps * perStep + edgeMicroseconds(tile, target));
  const compute = Math.max(longest, together + waits + aloneFactor * (steps - meanSteps) * perStep);
  const written = splits > 1 ? partialBytes(work, splits) : work.outputBytes;
  const memory = (work.inputBytes + written) / target.bandwidth.dram;
  if (tile.isApart) {
    // Two stages of keys a warp leave room for one block an SM: what a wave waits for, nothing hides.
    const wave = apartFactor * longest;
    const waves = wave + (perProcessor - 1) * (wave + apartWaveMicroseconds);
    return target.launchMicroseconds + apartBlockMicroseconds + Math.max(waves, memory);
  }
  return target.launchMicroseconds + blockMicroseconds + Math.max(compute, memory);
}

/**
 * Of a tile, its first operands, first scores and last products, which hide behind no other tile's: of one warpgroup, and of several. A step
 * of one warpgroup waits for its own products (an H100's 29 rows by every tile, bench/gpu/attention.ts).
 */
const edgeOfOneMicroseconds = 1.1;
const edgeOfSeveralMicroseconds = 2.4;
const waitOfOneMicroseconds = 0.6;
/** Of sums in float32, which are stored in pairs, and of the launch that adds them up. */
const splitMicroseconds = 2;

/** Of attention-hopper.cu: blocks that share a multiprocessor go through their tiles together, round by round. */
function hopperMicroseconds(
  work: AttentionWork,
  tile: TensorTile,
  { groups, blocks, isPair }: HopperForm,
  splits: number,
  target: PlanTarget,
): number {
  const { multiprocessors, flopPerClock, clocksPerMicrosecond, bandwidth } = target;
  const tiles = Math.ceil(work.queries / ((isPair ? 2 : 1) * tile.queries));
  const all = work.blocks * tiles * splits * (isPair ? 2 : 1);
  const together = Math.min(blocks, Math.ceil(all / multiprocessors));
  const rounds = Math.ceil(all / (together * multiprocessors));
  const steps = Math.ceil(work.keys / splits / tile.keys);
  const meanSteps = work.isCausal ? (steps * (tiles + 1)) / (2 * tiles) : steps;
  const rate = tile.efficiency * flopPerClock.wgmma * clocksPerMicrosecond;
  const perStep = (4 * tile.queries * tile.keys * tile.headDim) / rate;
  const step = together * perStep + (groups === 1 ? waitOfOneMicroseconds : 0);
  const edge = together * (groups === 1 ? edgeOfOneMicroseconds : edgeOfSeveralMicroseconds);
  const compute = Math.max(rounds * (edge + meanSteps * step), edge + steps * step);
  const written = splits > 1 ? partialBytes(work, splits) : work.outputBytes;
  const memory = (work.inputBytes + written) / bandwidth.dram;
  return target.launchMicroseconds + (splits > 1 ? splitMicroseconds : 0) + Math.max(compute, memory);
}

/** Of the kernel that adds up the splits; 0 without. */
export function combineMicroseconds(work: AttentionWork, splits: number, target: PlanTarget): number {
  if (splits === 1) return 0;
  return passMicroseconds({ bytes: partialBytes(work, splits) + work.outputBytes }, target);
}

function partialBytes({ blocks, queries, partialFloats }: AttentionWork, splits: number): number {
  return 4 * splits * blocks * queries * partialFloats;
}

/** Queries in and results out, at half the memory's rate: a block waits for them. */
function edgeMicroseconds({ queries, headDim }: TensorTile, target: PlanTarget): number {
  const bytes = 2 * queries * headDim * 2;
  return (2 * bytes * target.multiprocessors) / target.bandwidth.dram;
}

/** Of one tile of queries by one tile of keys, beside other blocks. */
function stepMicroseconds({ queries, keys, headDim, efficiency }: TensorTile, target: PlanTarget): number {
  const { flopPerClock, clocksPerMicrosecond } = target;
  return (4 * queries * keys * headDim) / (efficiency * flopPerClock.half * clocksPerMicrosecond);
}
