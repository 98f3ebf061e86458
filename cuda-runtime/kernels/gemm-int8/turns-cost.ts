/** @file What products of codes cost whose groups take turns: in few large tiles, or in many small ones of more warps. */
import type { PlanTarget } from "../../ir/step.ts";
import { hopperRates } from "../gemm/staying-cost.ts";

/** Blocks that stay, of a multiprocessor. */
export interface TurnsTile {
  readonly m: number;
  readonly n: number;
  /** That multiply, all blocks' together, and how many blocks those are. */
  readonly groups: number;
  readonly resident: number;
  /** Whether the entry stores whatever there is: its instructions are many, and far from each other. */
  readonly isLarge: boolean;
}

export interface TurnsWork {
  readonly tiles: number;
  /** Of 128 bytes along k. */
  readonly steps: number;
  /** Of an image: boxes of a step, and whether channels fill them. */
  readonly walk: { readonly parts: number; readonly isWhole: boolean } | undefined;
  /** Halves that an element of the result is stored as; 1 for fewer. */
  readonly stored: number;
  readonly hasTail: boolean;
}

/**
 * In clocks, of 150 launches of ResNet-50 at batch 1 and 32 on an H200, each by what the run is longer by (bench/gpu/in-run.ts, 2026-11-26): half are
 * predicted within 10 %, nine of ten within 26 %; what is chosen by it takes 1.03 of the fastest in all. Deep products of large tiles are as hopperRates has
 * them. A launch by itself, again and again, has its instructions at hand, which within a run it has not: a quarter of what 128x128 results took.
 */
const rates = {
  step: { large: hopperRates.step.turns, small: 36, walk: 236, ofSecondBlock: 0.77 },
  copies: { large: hopperRates.copies, small: 1.54 },
  rowOfBox: 3.96,
  ofPartBox: 1.7,
  end: 1490,
  /** Of a thread's results, and how much more a tail does to them. */
  endOfResult: 30.6,
  endOfTail: 3.3,
  /** Of a thread's results: until their instructions are there. */
  instructions: { large: 10.6, small: 0.24, ofTail: 2 },
} as const;

/** Of one step along k. */
const depthBytes = 128;
const threadsOfGroup = 128;

/** Until the instructions for so many results of a thread are there. */
export function instructionClocks(results: number, isLarge: boolean, hasTail: boolean): number {
  const { large, small, ofTail } = rates.instructions;
  return results * (isLarge ? large : small) * (hasTail ? ofTail : 1);
}

export function turnsClocks(tile: TurnsTile, work: TurnsWork, target: PlanTarget): number {
  const { m, n, groups, isLarge } = tile;
  const results = (m * n) / threadsOfGroup;
  const rounds = Math.ceil(work.tiles / target.multiprocessors);
  const product = work.steps * stepClocks(tile, work, target);
  const end = rates.end + rates.endOfResult * results * work.stored * (work.hasTail ? rates.endOfTail : 1);
  const perTile = Math.max(product, (product + end) / Math.min(groups, rounds));
  return (rounds - 1) * perTile + product + end + instructionClocks(results, isLarge, work.hasTail);
}

function stepClocks({ m, n, resident, isLarge }: TurnsTile, { walk }: TurnsWork, target: PlanTarget): number {
  // Bytes multiply twice as fast as halves.
  const multiply = (m * n * depthBytes) / target.flopPerClock.wgmma;
  const kind = isLarge ? "large" : "small";
  const bytes = ((m + n) * depthBytes) / (rates.copies[kind] * target.bytesPerClock.copyEngine);
  if (walk === undefined) return Math.max(multiply + rates.step[kind] / resident, bytes);
  const waited = multiply + rates.step.walk * (resident > 1 ? rates.step.ofSecondBlock : 1);
  const rows = m * rates.rowOfBox * walk.parts * (walk.isWhole ? 1 : rates.ofPartBox);
  return Math.max(waited, bytes, rows);
}
