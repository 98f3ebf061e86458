/** @file Which kernels do a recurrence: one that keeps R on Tensor Cores, one block for all steps, or a launch a step. */

import { type Candidate, cheapest } from "../../cost/candidate.ts";
import { waitMicroseconds } from "../../cost/predict.ts";
import type { PlanTarget } from "../../ir/step.ts";
import { bytesOfType, type FloatStorage } from "../../ir/storage.ts";
import { type CellKind, cells, type GateFunction } from "./cells.ts";

/** `kept`: pairs of steps along k, of 32 hidden units, whose part of R is in registers; `blocks`: of a cluster, warps of one. */
export type RecurrentWay =
  | { readonly kind: "tensor"; readonly kept: number; readonly blocks: number; readonly warps: number }
  | { readonly kind: "sequence" }
  | { readonly kind: "step" };

export interface RecurrentSizes {
  readonly cell: CellKind;
  readonly type: FloatStorage;
  readonly steps: number;
  readonly batch: number;
  readonly hidden: number;
  readonly directions: number;
  readonly functions: readonly (readonly GateFunction[])[];
}

export type AcceptsWay = (way: RecurrentWay) => boolean;

/** The last is always one. */
export function chooseRecurrent(
  sizes: RecurrentSizes,
  target: PlanTarget,
  accepts: AcceptsWay = () => true,
): Candidate<RecurrentWay> {
  const best = cheapest([...recurrentWays(sizes, target)].filter(({ launch }) => accepts(launch)));
  if (best === undefined) throw new Error("tc-lint bug: no kernel is accepted for this recurrence");
  return best;
}

export function* recurrentWays(
  sizes: RecurrentSizes,
  target: PlanTarget,
): Generator<Candidate<RecurrentWay>> {
  if (takesTensor(sizes, target)) {
    for (const way of tensorWays(sizes, target)) {
      yield { launch: way, microseconds: tensorMicroseconds(way, sizes, target) };
    }
  }
  if (sequenceSharedBytes(sizes) <= 48 * 1024) {
    yield { launch: { kind: "sequence" }, microseconds: sequenceMicroseconds(sizes, target) };
  }
  yield { launch: { kind: "step" }, microseconds: sizes.steps * stepLaunchesMicroseconds(sizes, target) };
}

/** Sequences that a thread has sums of, in kernels without Tensor Cores. */
export function lanesOf({ batch }: Pick<RecurrentSizes, "batch">): 1 | 4 {
  return batch === 1 ? 1 : 4;
}

const sequenceThreads = 512;

export function sequenceSharedBytes({ cell, hidden, batch }: RecurrentSizes): number {
  return cells[cell].arrays * lanesOf({ batch }) * hidden * 4;
}

/** Of the whole weights of a direction. */
function bytesOfR({ cell, hidden, type }: RecurrentSizes): number {
  return cells[cell].gates * hidden * hidden * bytesOfType(type);
}

// Tensor Cores ---------------------------------------------------------------------------------------------------------

/** Sequences of a block or a cluster: high and low halves of their states are the eight columns of a product. */
export const tensorSequences = 4;
const pairUnits = 32;
/** Of two states. */
const barrierBytes = 16;
const unitsOfWarp = 8;
/** Of the kernels that are built: pairs in registers, and warps that registers are left for. */
const keptRows = [
  { kept: 3, maxWarps: 16 },
  { kept: 4, maxWarps: 12 },
  { kept: 8, maxWarps: 8 },
] as const;
const clusterSizes = [1, 2, 4, 8] as const;

/** States of an unbounded function may leave the range of two halves. */
const bounded: ReadonlySet<GateFunction["kind"]> = new Set(["Sigmoid", "Tanh", "HardSigmoid", "Softsign"]);

function takesTensor({ cell, type, functions }: RecurrentSizes, { features }: PlanTarget): boolean {
  const hasTensor = { float16: features.half, bfloat16: features.bf16, float32: false }[type];
  const isBounded = functions.every((row) => row.every(({ kind }) => bounded.has(kind)));
  return hasTensor && cell !== "gruReset" && isBounded;
}

/** 16-row tiles of a warp: two gates each. */
function tilesOf(cell: CellKind): number {
  return Math.ceil(cells[cell].gates / 2);
}

export function tensorSharedBytes(
  { kept, warps }: RecurrentWay & { kind: "tensor" },
  { cell, hidden }: Pick<RecurrentSizes, "cell" | "hidden">,
): number {
  const pairs = Math.ceil(hidden / pairUnits);
  const states = 2 * 8 * (pairs * pairUnits + 8) * 2;
  return barrierBytes + states + warps * Math.max(0, pairs - kept) * 2 * tilesOf(cell) * 32 * 16;
}

function* tensorWays(
  sizes: RecurrentSizes,
  target: PlanTarget,
): Generator<RecurrentWay & { kind: "tensor" }> {
  for (const blocks of target.features.clusters ? clusterSizes : [1]) {
    const warps = Math.ceil(Math.ceil(sizes.hidden / unitsOfWarp) / blocks);
    for (const { kept, maxWarps } of keptRows) {
      const way = { kind: "tensor", kept, blocks, warps } as const;
      if (warps <= maxWarps && tensorSharedBytes(way, sizes) <= target.sharedBytesPerBlock) yield way;
    }
  }
}

/** Clocks of a step: of gates and what passes the state on, in one block and in a cluster; of a product that another waits for. */
const stepClocks = { block: 600, cluster: 1100 };
const productLatencyClocks = 33;
const productClocks = 8;
const sharedBytesPerClock = 128;

function tensorMicroseconds(
  way: RecurrentWay & { kind: "tensor" },
  { cell, steps, batch, hidden, directions }: RecurrentSizes,
  { launchMicroseconds, clocksPerMicrosecond, multiprocessors, bytesPerClock }: PlanTarget,
): number {
  const { kept, blocks, warps } = way;
  const tiles = tilesOf(cell);
  const pairs = Math.ceil(hidden / pairUnits);
  const issue = Math.ceil(warps / 4) * pairs * 2 * tiles * productClocks;
  const fragments = warps * Math.max(0, pairs - kept) * 2 * tiles * 512;
  const shared = (fragments + warps * pairs * 512) / sharedBytesPerClock;
  const product = Math.max(issue, shared, pairs * productLatencyClocks);
  const rows = warps * unitsOfWarp * 2 * tiles * pairs * pairUnits;
  const start = (rows * 2) / bytesPerClock.l2 + 2000;
  const all = blocks * directions * Math.ceil(batch / tensorSequences);
  const clocks = start + steps * (product + stepClocks[blocks > 1 ? "cluster" : "block"]);
  return launchMicroseconds + (Math.ceil(all / multiprocessors) * clocks) / clocksPerMicrosecond;
}

// CUDA cores -----------------------------------------------------------------------------------------------------------

/** Of a step in a sequence kernel beside its reading of R: two barriers and the gates (estimated). */
const sequenceStepMicroseconds = 0.8;
/** Of a hidden unit, a warp joins the sums of its gates and applies them (bench/measurements/h200-runtime-steps.jsonl: one size). */
const unitRounds = 4.5;

/** One block goes through all steps, and reads R at each: a warp has some hidden units, one after another. */
function sequenceMicroseconds(sizes: RecurrentSizes, target: PlanTarget): number {
  const { steps, hidden, batch, directions } = sizes;
  const { bytesPerClock, clocksPerMicrosecond, launchMicroseconds, multiprocessors } = target;
  const reading = bytesOfR(sizes) / (bytesPerClock.l2 * clocksPerMicrosecond);
  const units = Math.ceil((32 * hidden) / sequenceThreads);
  const waiting = waitMicroseconds(units * (Math.ceil(hidden / 32) + unitRounds), target);
  const waves = Math.ceil((directions * Math.ceil(batch / lanesOf(sizes))) / multiprocessors);
  return launchMicroseconds + waves * steps * (sequenceStepMicroseconds + reading + waiting);
}

/** Of one time step: R from the cache by all multiprocessors, and a warp's sums and gates. */
export function stepLaunchesMicroseconds(sizes: RecurrentSizes, target: PlanTarget): number {
  const { cell, hidden, batch, directions } = sizes;
  const tiles = Math.ceil(batch / lanesOf(sizes));
  const reading = (directions * tiles * bytesOfR(sizes)) / target.bandwidth.l2;
  const waiting = waitMicroseconds(Math.ceil(hidden / 128) + unitRounds, target);
  const launches = cells[cell].stepKernels.length;
  return launches * (target.launchMicroseconds + waiting) + reading;
}
