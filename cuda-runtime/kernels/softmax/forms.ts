/** @file Forms of softmax beside those of norm/rows.ts: rows packed in shared memory, and long rows kept there. */

import type { Candidate } from "../../cost/candidate.ts";
import { bytesMoved, passMicroseconds } from "../../cost/predict.ts";
import type { PlanTarget } from "../../ir/step.ts";
import { bytesOfType, type FloatStorage } from "../../ir/storage.ts";
import type { View } from "../../ir/view.ts";
import { type RowLaunch, type Rows, rowWait, typeNames } from "../norm/rows.ts";

interface PackedForm {
  /** Of a row, and elements of each of them. */
  readonly lanes: number;
  readonly each: number;
  readonly threads: number;
}

/** The entries of packed.cuh, `softmax_type_packed_lanesLxE`. */
const packedForms: readonly PackedForm[] = [
  { lanes: 8, each: 8, threads: 128 },
  { lanes: 16, each: 14, threads: 128 },
  { lanes: 32, each: 8, threads: 256 },
  { lanes: 8, each: 16, threads: 128 },
];
const keptThreads = 512;
/** Below, a multiprocessor's memory is idle while rows are reduced: a second read takes no longer. */
const fewestKept = 3;
/** Static shared memory of the kernel that keeps a row. */
const scratchBytes = 128;
const runElements = 8;

/** Time over memory against a plain pass (estimated). */
const prices = { packed: 1.4, kept: 1.15 } as const;
/** Loads that a thread waits for: to shared memory, from it, and back. */
const packedRounds = 1.5;

/** For softmax and its logarithm; `isPacked`: rows follow each other without gaps, from a multiple of 16 bytes on, in x and y. */
export function softmaxForms(
  type: FloatStorage,
  rows: Rows & { readonly isPacked: boolean },
  views: readonly View[],
  target: PlanTarget,
): Candidate<RowLaunch>[] {
  const bytes = bytesMoved(views);
  const priced = (launch: RowLaunch, passes: number, rounds = 0) => ({
    launch,
    microseconds: passMicroseconds({ bytes, passes, rounds }, target) + rowWait(bytes),
  });
  const detail = `${rows.rows}x${rows.cols}`;
  const packed = packedForms
    .filter(({ lanes, each }) => rows.isPacked && rows.cols <= lanes * each)
    .map(({ lanes, each, threads }) => {
      const entry = `softmax_${typeNames[type]}_packed_lanes${lanes}x${each}`;
      const grid = [Math.ceil((rows.rows * lanes) / threads), 1, 1] as const;
      // Lanes that have nothing take as long.
      const passes = rows.cut === "w8" ? 2 : prices.packed + (0.1 * lanes * each) / rows.cols;
      return priced({ entry, grid, block: [threads, 1, 1], sharedBytes: 0, detail }, passes, packedRounds);
    });
  return [...packed, ...keptRows(type, rows, target).map((launch) => priced(launch, prices.kept))];
}

function keptRows(type: FloatStorage, { rows, cols, cut }: Rows, target: PlanTarget): RowLaunch[] {
  const ofBlock = runElements * keptThreads;
  const sharedBytes = Math.ceil(cols / ofBlock) * ofBlock * bytesOfType(type);
  const most = target.sharedBytes / fewestKept - scratchBytes - target.reservedSharedBytes;
  if (cut !== "w8" || cols <= ofBlock || sharedBytes > most) return [];
  const entry = `softmax_${typeNames[type]}_w8_kept`;
  const detail = `${rows}x${cols} by ${keptThreads} threads`;
  return [{ entry, grid: [rows, 1, 1], block: [keptThreads, 1, 1], sharedBytes, detail }];
}
