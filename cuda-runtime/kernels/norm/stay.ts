/** @file Rows normalized by blocks that stay, which keep scale and bias in registers (stay.cuh). */

import type { Candidate } from "../../cost/candidate.ts";
import { bytesMoved, passMicroseconds } from "../../cost/predict.ts";
import type { PlanTarget } from "../../ir/step.ts";
import type { FloatStorage } from "../../ir/storage.ts";
import type { View } from "../../ir/view.ts";
import { type RowLaunch, type Rows, rowWait, typeNames } from "./rows.ts";

const maxThreads = 512;
/** Shorter rows are a warp's. */
const fewestThreads = 64;
const runColumns = 8;
/** Rows of a block below which its scale and bias are not read often enough to be kept. */
const fewestRows = 2;
/** Of a thread (stay.cuh): blocks with fewer lose to those of norm/rows.ts (bench/measurements/h100-norm-ways.jsonl). */
const runs = 4;
/** Of a multiprocessor, by the kernel's registers. */
const threadsInFlight = 512;
/** Time over memory against a plain pass. */
const passes = 1.1;

/** None for rows that are not w8, short, too long, or too few; none of float32, which leaves no registers for the row to come. */
export function stayingCandidates(
  type: FloatStorage,
  { rows, cols, cut }: Rows,
  views: readonly View[],
  target: PlanTarget,
): Candidate<RowLaunch>[] {
  if (cut !== "w8" || type === "float32") return [];
  const bytes = bytesMoved(views);
  const threads = 32 * Math.ceil(cols / (runColumns * runs) / 32);
  const blocks = target.multiprocessors * Math.floor(threadsInFlight / threads);
  if (threads > maxThreads || threads < fewestThreads || rows < fewestRows * blocks) return [];
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
}
