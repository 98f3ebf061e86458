/** @file Predicted time of attention by one tile. The tile itself is chosen by a simpler rule (tiles.ts). */

import type { PlanTarget } from "../../ir/step.ts";
import type { AttentionSize, TensorTile } from "./tiles.ts";

export interface AttentionWork extends AttentionSize {
  readonly splits: number;
  /** Of queries, keys, values and results. */
  readonly bytes: number;
  /** Each query sees the keys up to its own position only. */
  readonly isCausal: boolean;
}

/** Beside the launch, until a block's first step and from its last one: bench/results/gpu-attention.json, on an H200. */
const blockMicroseconds = 2.5;
/** A step alone on its multiprocessor waits for memory and barriers: time over that of one among others. */
const aloneFactor = 1.8;

/** Of the launch alone, without the sum of its splits. */
export function attentionMicroseconds(work: AttentionWork, tile: TensorTile, target: PlanTarget): number {
  const tiles = Math.ceil(work.queries / tile.queries);
  const blocks = work.blocks * tiles * work.splits;
  const steps = Math.ceil(work.keys / work.splits / tile.keys);
  // Blocks of late queries have all steps, and on average there are about half as many.
  const meanSteps = work.isCausal ? (steps * (tiles + 1)) / (2 * tiles) : steps;
  const perStep = stepMicroseconds(tile, target);
  const longest = steps * aloneFactor * perStep;
  const perProcessor = Math.ceil(blocks / target.multiprocessors);
  const together = perProcessor * (meanSteps * perStep + edgeMicroseconds(tile, target));
  const compute = Math.max(longest, together + aloneFactor * (steps - meanSteps) * perStep);
  return (
    target.launchMicroseconds + blockMicroseconds + Math.max(compute, work.bytes / target.bandwidth.dram)
  );
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
