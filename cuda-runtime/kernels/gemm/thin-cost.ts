/** @file Predicted time of a product by a kernel of gemm-thin, which memory bounds, or what is done to the result's elements. */
import type { PlanTarget } from "../../ir/step.ts";
import type { GemmSize } from "./cost.ts";
import { activationClocksOf } from "./end-cost.ts";
import type { ThinRow } from "./table.ts";
import { thinBlocks, thinShapeOf } from "./thin.ts";

/** Clocks of a multiprocessor for an element of every product: rounding and storing. */
const endClocks = 0.06;
/** More of an element whose rows take no copies of boxes. */
const oddStoreClocks = { 8: 0, 2: 0.12, 1: 0.25 } as const;
/** From one tile of a block to its next, beside its share of the multiprocessor: the wait for rows, products, barriers. */
const tileClocks = 1200;
/** Of a multiprocessor for a tile. */
const issueClocks = 60;
/** Until the first tile's rows are there, and from the last products until all is stored. */
const startClocks = 3600;
const dramShare = 0.9;
const l2Share = 0.6;

export function thinMicroseconds(row: ThinRow, size: GemmSize, target: PlanTarget): number {
  const { m, n, k } = size;
  const shape = thinShapeOf(row, { k, hasResidual: size.residualBytes > 0 }, target);
  if (shape === undefined) return Number.POSITIVE_INFINITY;
  const { bytesPerClock, multiprocessors } = target;
  const [tilesM, tilesN] = [Math.ceil(m / row.m), Math.ceil(n / row.n)];
  const blocks = thinBlocks(tilesM, tilesN, shape, target);
  const elements = row.m * row.n;
  const each = endClocks + activationClocksOf("thin", size.first) + oddStoreClocks[size.storeWidth];
  const multiply = (2 * elements * k) / target.flopPerClock.wgmma;
  const operands = 2 * row.m * shape.panel * shape.panels;
  const moved = operands + elements * 2 * (size.residualBytes > 0 ? 2 : 1);
  const work = Math.max(issueClocks + elements * each + multiply, moved / (l2Share * bytesPerClock.l2));
  // What one block takes for a tile with nobody beside it: its groups share what they wait for.
  const alone = tileClocks + Math.max(1, (4 * row.width * 64) / elements) * elements * each;
  const rounds = Math.ceil((tilesM * tilesN) / blocks);
  const inFlight = Math.ceil(blocks / multiprocessors);
  const own = rounds * Math.max(inFlight * work, alone);
  const bytes = 2 * (m * k + n * k + m * n) + size.residualBytes;
  const memory = bytes / (dramShare * bytesPerClock.dram * multiprocessors);
  return target.launchMicroseconds + (startClocks + Math.max(own, memory)) / target.clocksPerMicrosecond;
}
