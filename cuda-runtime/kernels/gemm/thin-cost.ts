/** @file Predicted time of a product by a kernel of gemm-thin, which memory bounds, or what is done to the result's elements. */
import { sectorBytes } from "../../cost/cache-lines.ts";
import type { PlanTarget } from "../../ir/step.ts";
import type { GemmSize } from "./cost.ts";
import { activationClocksOf } from "./end-cost.ts";
import type { ThinRow } from "./table.ts";
import { thinBlocks, thinShapeOf } from "./thin.ts";

// Fitted to 136 times of 34 products on an H100 (bench/measurements/h100-thin.jsonl); what begins before a launch waits is fitted to 38 products
// since (kinds r* of bench/measurements/h100-gemm-ends.jsonl), where the best tile is predicted within 9 % in the median.

/** Clocks of a multiprocessor for an element of every product: rounding and storing. */
const endClocks = 0.107;
/** More of an element whose rows take no copies of boxes; and times that its bytes count then (bench/measurements/h100-gemm-lines.jsonl). */
const oddStoreClocks = { 8: 0, 2: 0.05, 1: 0.13 } as const;
const oddStoreBytes = { 8: 1, 2: 1, 1: 1.5 } as const;
/** Of a multiprocessor for a tile. */
const issueClocks = 275;
/** Until the first tile's rows are there, and from the last products until all is stored. */
const startClocks = { few: 1450, many: 2200 } as const;
const fewRows = 1024;
/** Of fewer rows no product was timed: others are taken first. */
const fewestRows = 49;
const unknownClocks = 5500;
/** Of what elements and memory take by the rates of before, what they take beside weights that are there already. */
const share = 0.926;
const dramShare = 0.937;
/** Of rows that are read again for another column of tiles: they are in the L2. */
const againShare = 0.002;
/** Times that a result's bytes count where a tile's rows end inside a sector: those are written twice, and read in between. */
const partialSectors = 3.5;

export function thinMicroseconds(row: ThinRow, size: GemmSize, target: PlanTarget): number {
  const { m, n, k } = size;
  const shape = thinShapeOf(row, { k, hasResidual: size.residualBytes > 0 }, target);
  if (shape === undefined) return Number.POSITIVE_INFINITY;
  const { bytesPerClock, multiprocessors } = target;
  const [tilesM, tilesN] = [Math.ceil(m / row.m), Math.ceil(n / row.n)];
  const blocks = thinBlocks(tilesM, tilesN, shape, target);
  const elements = row.m * row.n;
  const each = endClocks + activationClocksOf("thin", size.first) + oddStoreClocks[size.storeWidth];
  const work = issueClocks + elements * each + (2 * elements * k) / target.flopPerClock.wgmma;
  // Groups of a block wait for each other: one alone has a share of the multiprocessor.
  const alone = Math.max(1, (4 * row.width * 64) / elements) * elements * each;
  const rounds = Math.ceil((tilesM * tilesN) / blocks);
  const own = rounds * Math.max(Math.ceil(blocks / multiprocessors) * work, alone);
  const stored = tilesN > 1 && (2 * row.width) % sectorBytes !== 0 ? partialSectors : 1;
  const read = m * k * (1 + againShare * (tilesN - 1)) + n * k;
  const bytes = 2 * (read + m * n * stored * oddStoreBytes[size.storeWidth]) + size.residualBytes;
  const memory = bytes / (dramShare * bytesPerClock.dram * multiprocessors);
  const start = startClocks[m < fewRows ? "few" : "many"] + (m < fewestRows ? unknownClocks : 0);
  const clocks = start + share * Math.max(own, memory);
  return target.launchMicroseconds + clocks / target.clocksPerMicrosecond;
}
