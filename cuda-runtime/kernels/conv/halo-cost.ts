/** @file Predicted time of a convolution whose taps are read from patches of the image (conv-halo.cu). */
import type { ActivationKind } from "../../ir/epilogue.ts";
import type { PlanTarget } from "../../ir/step.ts";
import type { ConvProblem } from "./cost.ts";
import type { HaloWork } from "./halo.ts";
import type { Halo } from "./halo-table.ts";

/**
 * Clocks of a step beside what it multiplies or fetches; of the copy engine, for a row of 128 bytes, of 64, and of either where two blocks
 * share a multiprocessor; of a tile's end, at all and for each of its results, and the share of it that two blocks do not hide from each
 * other; until the first step. Shares of the products' rate and of DRAM's, and how much faster products are where all other
 * multiprocessors idle, which leaves them power. Fitted to 224 timings of an H100 (bench/measurements/h100-conv-halo.jsonl).
 */
const rates = {
  step: 35,
  row: { 64: 2, 32: 3.9 },
  sharedRow: 4.7,
  end: 1700,
  endOfResult: 0.037,
  exposedEnd: 0.58,
  start: 1670,
  productShare: 0.93,
  idle: 0.3,
  dramShare: 0.545,
} as const;

/**
 * Where fewer than eight results are stored at once: clocks of a tile's end for each of its results more; of a single patch for each block that there is more
 * of than multiprocessors have room for, which disturb each other. Of 40 layers of 12 to 120 filters in models on an H100.
 */
const narrow = { ofResult: { 8: 0, 2: 0.14, 1: 0.16 }, ofBlock: 3500, room: 0.4 } as const;

/**
 * The same of a single patch a block, which one group of warps multiplies, waiting for each step: fitted to 26 layers of an H100 in the same
 * file. A multiprocessor's second block waits while the first one multiplies.
 */
const single = {
  start: 1690,
  /** Alone on its multiprocessor; with as many neighbours as there are multiprocessors; two on one. */
  step: { alone: 302, crowded: 347, shared: 423 },
  end: { alone: 1000, shared: 2300 },
} as const;

/** The same of a formula that is long: espcn's 64 filters, where one block has a multiprocessor. */
const formulaClocks: Readonly<Partial<Record<ActivationKind, number>>> = { tanh: 0.25 };

/** Results that lie so that they may be stored at once. */
export function storeWidthOf({ storeWidth, filters }: ConvProblem): 8 | 2 | 1 {
  return ([8, 2] as const).find((width) => width <= storeWidth && filters % width === 0) ?? 1;
}

export function haloMicroseconds(
  problem: ConvProblem,
  work: HaloWork,
  halo: Halo,
  target: PlanTarget,
): number {
  const { patches, channels, filters } = halo;
  const steps = problem.taps * Math.ceil(problem.channels / channels);
  const tiles = Math.ceil(work.patches / patches) * Math.ceil(problem.filters / filters);
  const clocks =
    patches === 1
      ? singleClocks(tiles, steps, halo, target) + narrowClocks(problem, tiles, target)
      : patchesClocks(problem, work, halo, { tiles, steps }, target);
  const weights = 2 * problem.filters * problem.taps * problem.channels;
  const moved = problem.inputBytes + problem.outputBytes + weights;
  const memory = moved / (rates.dramShare * target.bandwidth.dram);
  return target.launchMicroseconds + Math.max(clocks / target.clocksPerMicrosecond, memory);
}

function narrowClocks(problem: ConvProblem, tiles: number, { multiprocessors }: PlanTarget): number {
  if (storeWidthOf(problem) === 8) return 0;
  return narrow.ofBlock * Math.max(0, tiles / multiprocessors - narrow.room);
}

function singleClocks(
  tiles: number,
  steps: number,
  { blocks }: Halo,
  { multiprocessors }: PlanTarget,
): number {
  const isShared = tiles > multiprocessors;
  const rounds = isShared ? Math.ceil(tiles / (blocks * multiprocessors)) : 1;
  const { alone, crowded, shared } = single.step;
  const step = isShared ? shared : alone + (crowded - alone) * (tiles / multiprocessors) ** 2;
  return single.start + rounds * (steps * step + (isShared ? single.end.shared : single.end.alone));
}

function patchesClocks(
  problem: ConvProblem,
  work: HaloWork,
  { patches, channels, filters, blocks }: Halo,
  { tiles, steps }: { readonly tiles: number; readonly steps: number },
  { multiprocessors, flopPerClock }: PlanTarget,
): number {
  const idle = Math.max(0, 1 - tiles / multiprocessors);
  const flops = 2 * patches * 64 * filters * channels;
  const products = flops / (rates.productShare * (1 + rates.idle * idle) * flopPerClock.wgmma);
  const row = channels === 64 && blocks > 1 ? rates.sharedRow : rates.row[channels];
  const fetched = ((patches * work.positions) / problem.taps + filters) * row;
  const ofSteps = steps * (Math.max(products, fetched) + rates.step / blocks);
  const formula = formulaClocks[work.formula] ?? 0;
  const ofResult = rates.endOfResult + narrow.ofResult[storeWidthOf(problem)] + formula;
  const end = rates.end + ofResult * patches * 64 * filters;
  const ofTile = ofSteps + end * (blocks > 1 ? rates.exposedEnd : 1);
  return rates.start + (Math.ceil(tiles / multiprocessors) - 1) * ofTile + ofSteps + end;
}
