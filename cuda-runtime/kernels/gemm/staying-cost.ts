/** @file What products cost whose blocks stay, fed by TMA (kernels/core): those of matrices, of images, of codes; and of clusters that add up. */
import { clusterShare } from "../../../src/hardware/clusters.ts";
import type { PlanTarget } from "../../ir/step.ts";
import type { GemmSize } from "./cost.ts";
import { blocksOfTeamRow, type HopperRow, stageBytes } from "./table.ts";

/** Groups that share a tile, and such that take turns; of tiles of 64 rows, where that is told apart. */
interface ByGroups {
  readonly together: number;
  readonly turns: number;
  readonly turnsOf64?: number;
}

function ofGroups({ together, turns, turnsOf64 = turns }: ByGroups, row: HopperRow): number {
  return row.together ? together : row.m === 64 ? turnsOf64 : turns;
}

/** What a product costs whose blocks stay, in clocks of a multiprocessor unless it says otherwise. */
export interface StayingRates {
  /** Of a step along k, beside its products. */
  readonly step: ByGroups;
  /**
   * Of shared memory's rate, what groups that multiply together get: each reads its operands, and TMA writes the next ones. A group that has
   * its turn has it to itself.
   */
  readonly sharedShare: number;
  /** Of a tile's end, and of that for an element of two bytes. */
  readonly end: ByGroups;
  readonly endOfElement: number;
  /** What a tile's end takes of the next one's products where groups take turns, for an element of two bytes: stores and copies meet. */
  readonly turnOfElement: number;
  /** What the copy engine fetches of what it was thought to. */
  readonly copies: number;
}

/**
 * Of matrices: 26 products on an H200, the mean of two runs each, when tiles ended in 2.5 times as many instructions. Of ends that are halves in whole
 * groups of eight hopper-cost.ts says what they take now; these are for others, and for codes.
 */
export const hopperRates: StayingRates & {
  /** Of DRAM's rate: where each block has one tile, all ask for pieces of 128 bytes of long rows at once; and of more tiles. */
  readonly dramShares: { readonly few: number; readonly many: number };
} = {
  step: { together: 80, turns: 180 },
  sharedShare: 0.84,
  end: { together: 2100, turns: 1500 },
  endOfElement: 0.2,
  turnOfElement: 0.068,
  copies: 1.22,
  dramShares: { few: 0.53, many: 0.75 },
};

/** Of blocks that add up. */
export interface SumRates {
  readonly step: ByGroups;
  /** As of blocks that stay: of what a block stores. */
  readonly end: number;
  readonly endOfElement: number;
  readonly copies: number;
  /** Until all have met, have read the others' sums and left, and of that for each block of the team. */
  readonly clocks: number;
  readonly clocksOfBlock: number;
}

/**
 * What clusters' blocks take of images: 15 convolutions on an H100, 120 clusters among 180 ways (bench/measurements/h100-conv-splits.jsonl). A step
 * waits longer than those of blocks that stay.
 */
export const sumRates = {
  step: { together: 380, turns: 650 },
  end: 1270,
  endOfElement: 0.165,
  clocks: 1750,
  clocksOfBlock: 320,
} as const;

/** Parts with fewer steps were not timed, and are taken for no shorter. */
const fewestSteps = 4;
/** Blocks of a cluster share multiprocessors before all have one: of so many waves one is two. */
const crowding = 1.1;
/** Waves of so many blocks by clusters. Those of more than four are counted as fours, as the rates were fitted. */
export function wavesOfTeams(blocks: number, splits: number, { multiprocessors }: PlanTarget): number {
  return blocks / (multiprocessors * clusterShare(Math.min(splits, 4)));
}

/** Of matrices' clusters, by the products of few rows of an H200 (bench/results/gpu-gemm.json) and three on an H100. */
export const matrixSumRates: SumRates = {
  step: { together: 380, turns: 690 },
  end: 950,
  endOfElement: 0.56,
  copies: 0.55,
  clocks: 1300,
  clocksOfBlock: 112,
};

/** Of DRAM's rate, what so many tiles of a product of matrices get. */
export function dramShareOf(tiles: number, { multiprocessors }: PlanTarget): number {
  const { few, many } = hopperRates.dramShares;
  return tiles <= multiprocessors ? few : many;
}

export interface StayingWork
  extends Pick<GemmSize, "m" | "n" | "k" | "batch">,
    Partial<Pick<GemmSize, "aLine" | "bLine">> {
  readonly splits: number;
  /** Halves that are written and read for an element of the result. */
  readonly stored: number;
  /** Of the copy engine, for what it does for each row of a tile in a step, however short. */
  readonly rowClocks: number;
  /** The same for a column, where rows and columns are all that it is told by; else no less than the bytes take. */
  readonly columnClocks?: number;
}

/** Rows of one wgmma, which reads them and all columns. */
const rowsOfInstruction = 64;

/** Of one step along k: operands of each instruction, and the stage that TMA writes meanwhile. */
export function sharedBytesOfStep(row: HopperRow): number {
  const read = (row.m / rowsOfInstruction) * (rowsOfInstruction + row.n) * row.k * 2;
  return read + stageBytes(row);
}

/** Blocks stay and take tile after tile; the next one's operands come in while this one is stored. */
export function stayingClocks(
  row: HopperRow,
  work: StayingWork,
  rates: StayingRates,
  target: PlanTarget,
): number {
  const steps = Math.ceil(Math.ceil(work.k / work.splits) / row.k);
  const tiles = Math.ceil(work.m / row.m) * Math.ceil(work.n / row.n) * work.batch * work.splits;
  const rounds = Math.ceil(tiles / target.multiprocessors);
  const multiply = (2 * row.m * row.n * row.k) / target.flopPerClock.wgmma;
  const fetch = fetchClocks(row, work, tiles / target.multiprocessors, rates.copies, target);
  const elements = (row.m * row.n) / (row.together ? 2 : 1);
  const end = ofGroups(rates.end, row) + rates.endOfElement * elements * work.stored;
  if (row.together) {
    const shared = sharedBytesOfStep(row) / (target.bytesPerClock.shared * rates.sharedShare);
    const product = steps * Math.max(multiply + rates.step.together, shared, fetch);
    return rounds * (product + end);
  }
  // One group multiplies while the other stores.
  const product = steps * Math.max(multiply + ofGroups(rates.step, row), fetch);
  const hidden = Math.max(product, (product + end) / 2);
  const perTile = Math.max(product + rates.turnOfElement * elements * work.stored, hidden);
  // The last tile has no next one.
  return (rounds - 1) * perTile + hidden + end;
}

/** Below it the L2 is no faster for each multiprocessor. */
const fewestWaves = 0.5;

/** Clocks by the bytes that rows begin at multiples of, most first. */
export type LineClocks = readonly (readonly [line: number, clocks: number])[];

/** Of the copy engine, for a row of a stage of which each piece of 128 bytes lies in two lines, by the bytes that rows begin at multiples of. */
const lineClocks: LineClocks = [
  [128, 0],
  [64, 0.6],
  [32, 1.5],
  [0, 3.3],
];

/** Of the first line that so many bytes reach. */
export function clocksOfLine(clocks: LineClocks, bytes: number): number {
  return clocks.find(([line]) => bytes >= line)?.[1] ?? 0;
}

/** Of a stage, where a multiprocessor has so many waves of tiles. */
export function fetchClocks(
  row: HopperRow,
  {
    k,
    rowClocks,
    columnClocks,
    aLine = 128,
    bLine = 128,
  }: Omit<StayingWork, "m" | "n" | "batch" | "splits" | "stored">,
  waves: number,
  copies: number,
  target: PlanTarget,
): number {
  if (columnClocks !== undefined)
    return (row.m * rowClocks + row.n * columnClocks) * Math.min(1, Math.max(fewestWaves, waves));
  const bytes = stageBytes(row) / (copies * target.bytesPerClock.copyEngine);
  const filled = k / (Math.ceil(k / row.k) * row.k);
  const lines = filled * (row.m * clocksOfLine(lineClocks, aLine) + row.n * clocksOfLine(lineClocks, bLine));
  return Math.max((bytes + lines) * Math.min(1, waves), row.m * rowClocks);
}

/**
 * A block has one tile in its part of k, of 64 rows its groups every other step; then it adds up and stores its share, while it has
 * nothing copied. `memory`: clocks of what comes from DRAM.
 */
export function teamSumClocks(
  row: HopperRow,
  work: StayingWork,
  rates: SumRates,
  memory: number,
  target: PlanTarget,
): number {
  const steps = Math.max(fewestSteps, Math.ceil(Math.ceil(work.k / work.splits) / row.k));
  const blocks = Math.ceil(work.m / row.m) * Math.ceil(work.n / row.n) * work.batch * work.splits;
  const waves = wavesOfTeams(blocks, work.splits, target);
  const together = Math.min(blocksOfTeamRow(row), Math.ceil(waves * crowding));
  const rounds = Math.ceil(Math.ceil(waves) / together);
  const multiply = (2 * row.m * row.n * row.k) / target.flopPerClock.wgmma;
  const fetch = fetchClocks(row, work, waves, rates.copies, target);
  const alone = row.together ? multiply + rates.step.together : (multiply + rates.step.turns) / 2;
  const product = steps * Math.max(alone, together * multiply, together * fetch);
  const stored = ((row.m * row.n) / work.splits) * work.stored;
  const adding = rates.clocks + work.splits * rates.clocksOfBlock;
  return Math.max(rounds * product, memory) + rounds * (rates.end + adding + rates.endOfElement * stored);
}
