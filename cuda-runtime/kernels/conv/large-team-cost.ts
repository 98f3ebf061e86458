/** @file What a convolution takes whose clusters add up splits of large tiles, each block with a multiprocessor to itself. */
import { clusterShare } from "../../../src/hardware/clusters.ts";
import type { PlanTarget } from "../../ir/step.ts";
import { type StayingWork, wavesOfTeams } from "../gemm/staying-cost.ts";
import type { HopperRow } from "../gemm/table.ts";

/**
 * Clocks of a multiprocessor: until the first tile is there; of the copy engine for a row and a column of 128 bytes; of adding up, for each block that is read;
 * of the end, for a result of two bytes. `alone`: share of the copy engine's clocks where nobody else fetches. Fitted to 14 layers in 84 ways by themselves
 * (bench/measurements/h200-conv-teams.jsonl) and to 25 within runs, on an H200; of the ways of a layer that are near its best half are within 5 %.
 */
export const largeTeamRates = {
  start: 80,
  rowClocks: 1.8,
  columnClocks: 4.3,
  alone: 0.44,
  clocksOfBlock: 1140,
  endOfElement: 0.96,
  dramShare: 0.88,
} as const;

/** Of a launch. `memory`: clocks of what comes from DRAM; `panels`: pieces that rows of operands come in. */
export function largeTeamClocks(
  row: HopperRow,
  work: StayingWork,
  panels: number,
  memory: number,
  target: PlanTarget,
): number {
  const { start, columnClocks, alone, clocksOfBlock, endOfElement } = largeTeamRates;
  const steps = Math.ceil(Math.ceil(work.k / work.splits) / row.k);
  const blocks = Math.ceil(work.m / row.m) * Math.ceil(work.n / row.n) * work.batch * work.splits;
  const waves = wavesOfTeams(blocks, work.splits, target);
  const rounds = Math.ceil(blocks / (target.multiprocessors * clusterShare(work.splits)));
  const multiply = (2 * row.m * row.n * row.k) / target.flopPerClock.wgmma;
  const crowded = alone + (1 - alone) * Math.min(1, waves);
  const fetch = (row.m * work.rowClocks + row.n * panels * columnClocks) * crowded;
  const stored = ((row.m * row.n) / work.splits) * work.stored;
  const end = work.splits * clocksOfBlock + endOfElement * stored;
  return start + Math.max(rounds * steps * Math.max(multiply, fetch), memory) + rounds * end;
}
