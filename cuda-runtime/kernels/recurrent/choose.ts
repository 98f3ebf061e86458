/** @file Which kernels do a recurrence: one that keeps R on Tensor Cores, one block for all steps, or a launch a step. */

import { type Candidate, cheapest } from "../../cost/candidate.ts";
import { waitMicroseconds } from "../../cost/predict.ts";
import type { PlanTarget } from "../../ir/step.ts";
import { bytesOfType, type FloatStorage } from "../../ir/storage.ts";
import { boundedGates, type CellKind, cells, type GateFunction } from "./cells.ts";

/** `kept`: pairs of steps along k, of 32 hidden units, whose part of R is in registers; `blocks`: of a cluster, warps of one. */
export type RecurrentWay =
  | {
      readonly kind: "tensor";
      readonly kept: 3 | 4 | 8;
      readonly blocks: 1 | 2 | 4 | 8;
      readonly warps: number;
    }
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

export const sequenceThreads = 512;

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
/** Of the kernels that are built: pairs in registers, registers of a thread, and warps that these are left for. */
const keptRows = [
  { kept: 3, registers: 128, maxWarps: 16 },
  { kept: 4, registers: 168, maxWarps: 12 },
  { kept: 8, registers: 256, maxWarps: 8 },
] as const;
const registersOfMultiprocessor = 65_536;
/** By blocks of a cluster, of the multiprocessors what such clusters find: those of one lie together. */
const shareOfClusters = { 1: 1, 2: 1, 4: 0.96, 8: 0.92 } as const;
const clusterSizes = [1, 2, 4, 8] as const;

function takesTensor({ cell, type, functions }: RecurrentSizes, { features }: PlanTarget): boolean {
  const hasTensor = { float16: features.half, bfloat16: features.bf16, float32: false }[type];
  const isBounded = functions.every((row) => row.every(({ kind }) => boundedGates.has(kind)));
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
  for (const blocks of target.features.clusters ? clusterSizes : ([1] as const)) {
    const warps = Math.ceil(Math.ceil(sizes.hidden / unitsOfWarp) / blocks);
    for (const { kept, maxWarps } of keptRows) {
      const way = { kind: "tensor", kept, blocks, warps } as const;
      if (warps <= maxWarps && tensorSharedBytes(way, sizes) <= target.sharedBytesPerBlock) yield way;
    }
  }
}

/**
 * Clocks of a step: at all, in a cluster, for each gate, for each gate of a warp's scheduler, for each pair along k, and for each clock of shared
 * memory; and before the first step for each piece of R in registers and in shared memory. Fitted to 266 timings of LSTM, GRU and RNN on an H100
 * (bench/measurements/h100-recurrent.jsonl): 9 of 10 within 10 %.
 */
const rates = {
  ...{ step: 628, cluster: 176, gate: 54, gateOfWarp: 19.5, pair: 43, shared: 1.05 },
  ...{ kept: 352, other: 515 },
} as const;
const schedulers = 4;

/** Blocks that share a multiprocessor take turns for its schedulers and its shared memory. */
function tensorMicroseconds(
  way: RecurrentWay & { kind: "tensor" },
  { cell, steps, batch, hidden, directions }: RecurrentSizes,
  target: PlanTarget,
): number {
  const { kept, blocks, warps } = way;
  const { gates } = cells[cell];
  const pieces = 2 * tilesOf(cell);
  const pairs = Math.ceil(hidden / pairUnits);
  const others = Math.max(0, pairs - kept);
  const all = blocks * directions * Math.ceil(batch / tensorSequences);
  const places = Math.floor(shareOfClusters[blocks] * target.multiprocessors);
  const resident = residentBlocks(way, tensorSharedBytes(way, { cell, hidden }), target);
  const beside = Math.min(resident, Math.ceil(all / places));
  const shared = (beside * warps * (others * pieces + pairs) * 512) / 128;
  const step =
    rates.step +
    (blocks > 1 ? rates.cluster : 0) +
    rates.gate * gates +
    rates.gateOfWarp * gates * Math.ceil((beside * warps) / schedulers) +
    rates.pair * pairs +
    rates.shared * shared;
  const start = (rates.kept * kept + rates.other * others) * pieces;
  const waves = Math.ceil(all / (places * beside));
  return target.launchMicroseconds + (waves * (start + steps * step)) / target.clocksPerMicrosecond;
}

function residentBlocks(
  { kept, warps }: RecurrentWay & { kind: "tensor" },
  sharedBytes: number,
  target: PlanTarget,
): number {
  const registers = keptRows.find((row) => row.kept === kept)?.registers ?? 256;
  const byRegisters = registersOfMultiprocessor / (registers * 32 * warps);
  const byShared = target.sharedBytes / (sharedBytes + target.reservedSharedBytes);
  return Math.max(1, Math.floor(Math.min(byRegisters, byShared)));
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

/**
 * Of a launch a step, microseconds for each gate and for each round of loads of R; against their instructions, what all warps take. Fitted to 42 sizes
 * of LSTM, GRU and RNN on an H100 (the same file).
 */
const stepRates = { gate: 0.31, round: 0.066, instructions: 2.1 } as const;

/** Of one time step, all of its launches: a warp has a unit of some sequences, its sums and its gates. */
export function stepLaunchesMicroseconds(sizes: RecurrentSizes, target: PlanTarget): number {
  const { cell, hidden, batch, directions } = sizes;
  const { gates, stepKernels } = cells[cell];
  const lanes = lanesOf(sizes);
  const rounds = Math.ceil(hidden / 32);
  const warps = directions * Math.ceil(batch / lanes) * hidden;
  const instructions = warps * (gates * lanes * (10 + 2 * rounds) + 100);
  const issued = instructions / (schedulers * target.multiprocessors * target.clocksPerMicrosecond);
  const waiting = stepRates.gate * gates + stepRates.round * rounds;
  return stepKernels.length * target.launchMicroseconds + waiting + stepRates.instructions * issued;
}
