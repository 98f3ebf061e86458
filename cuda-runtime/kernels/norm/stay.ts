/** @file Rows normalized by blocks that stay, which keep scale and bias in registers (stay.cuh). */

import type { Candidate } from "../../cost/candidate.ts";
import { bytesMoved, passMicroseconds } from "../../cost/predict.ts";
import type { PlanTarget } from "../../ir/step.ts";
import type { FloatStorage } from "../../ir/storage.ts";
import type { View } from "../../ir/view.ts";
import { type RowLaunch, type Rows, rowWait, typeNames } from "./rows.ts";

const maxThreads = 512;
const runColumns = 8;
/** Rows of a block below which its scale and bias are not read often enough to be kept. */
const fewestRows = 2;
/** By how many runs a thread has: threads of a multiprocessor, by the kernels' registers. */
const threadsInFlight: readonly (readonly [runs: number, threads: number])[] = [
  [1, 1024],
  [2, 512],
  [3, 512],
  [4, 512],
];
/** More runs of float32 leave no registers for rows to come. */
const mostFloatRuns = 2;
/** Time over memory against a plain pass (estimated: rows to come are under way). */
const passes = 1.15;

/** None for rows that are not w8, too long, or too few. */
export function stayingCandidates(
  type: FloatStorage,
  { rows, cols, cut }: Rows,
  views: readonly View[],
  target: PlanTarget,
): Candidate<RowLaunch>[] {
  if (cut !== "w8") return [];
  const bytes = bytesMoved(views);
  return threadsInFlight.flatMap(([runs, inFlight]) => {
    const threads = 32 * Math.ceil(cols / (runColumns * runs) / 32);
    const blocks = target.multiprocessors * Math.floor(inFlight / threads);
    const isFit = threads <= maxThreads && threads >= 64 && rows >= fewestRows * blocks;
    if (!isFit || (type === "float32" && runs > mostFloatRuns)) return [];
    const launch: RowLaunch = {
      entry: `rownorm_${typeNames[type]}_w8_stay${runs}`,
      grid: [blocks, 1, 1],
      block: [threads, 1, 1],
      sharedBytes: 0,
      detail: `${rows}x${cols} by ${blocks} blocks`,
    };
    // A block's last row is waited for alone.
    const idle = (Math.ceil(rows / blocks) * blocks) / rows;
    const microseconds = passMicroseconds({ bytes, passes: passes * idle }, target) + rowWait(bytes);
    return [{ launch, microseconds }];
  });
}
