/** @file What the chosen kernel of a convolution takes. Choosing leaves out what it found to be alike for all kernels. */

import type { PlanTarget } from "../../ir/step.ts";
import {
  blocksOf,
  type ConvChoice,
  type ConvProblem,
  drainMicroseconds,
  startMicroseconds,
} from "./choose.ts";
import { threadsOf } from "./table.ts";

/** As launched: of merged groups. */
export interface ConvStores extends Pick<ConvProblem, "rows" | "filters" | "groups"> {
  /** Elements that a thread stores at once. */
  readonly storeWidth: 8 | 2 | 1;
}

/** Measured over modelled, beyond the launch, of kernels that gather x: on an H200 (bench/results/gpu-conv.json). */
const gatherFactor = 2.7;
/** For each of its results, a thread is so long in the epilogue: on an H200, by what it can store at once. */
const storeClocks = { 8: 134, 2: 515, 1: 824 } as const;

/** Of the product's own launch. */
export function convMicroseconds(choice: ConvChoice, stores: ConvStores, target: PlanTarget): number {
  const { tile, splits, productMicroseconds } = choice;
  const { perProcessor, together } = blocksOf(stores, tile, splits, target);
  const perThread = (tile.rows * Math.min(stores.filters, tile.filters)) / threadsOf(tile);
  // Partial sums go out as they are.
  const clocks = splits > 1 ? 0 : storeClocks[stores.storeWidth];
  const epilogues = ((perProcessor / together) * perThread * clocks) / target.clocksPerMicrosecond;
  const stored = productMicroseconds + Math.max(0, epilogues - drainMicroseconds);
  if (tile.grain > 0) return stored;
  const start = target.launchMicroseconds + startMicroseconds;
  return Math.max(stored, start + gatherFactor * (productMicroseconds - start));
}
