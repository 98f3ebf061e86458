/** @file What a launch takes: by its family's own model where it has one, else as a pass over memory. */

import { type Action, type PlanTarget, touched } from "../ir/step.ts";
import { bytesOfType } from "../ir/storage.ts";
import { distinctCount, type View } from "../ir/view.ts";

export interface PassWork {
  /** Read and written, each byte once. */
  readonly bytes: number;
  /** Time over memory against a plain pass, which a chain of two operands is; 1 unless given. */
  readonly passes?: number | undefined;
  /** Of all threads, on CUDA cores; a multiply-add is one. None unless given. */
  readonly instructions?: number | undefined;
  /** Loads that a thread waits for one after another; those that it has in flight together are one. None unless given. */
  readonly rounds?: number | undefined;
  /** Whether its operands are taken to be where the launches before left them: in the L2, as far as that holds them. Else they come from DRAM. */
  readonly isLeftInL2?: boolean | undefined;
}

/**
 * Of the L2: what a launch's operands may take to be there when it runs again, from where on none are, and the share of its rate that passes get. Some
 * 1,000 chains of whole models on an H100, batch 1 to 32, by what they move (bench/measurements/h100-batch-launches.jsonl).
 */
const leftInL2 = { whole: 0.64, none: 0.92, rate: 0.95 } as const;

/** From where the launches before left it. */
function leftMicroseconds(bytes: number, { bandwidth, l2Bytes }: PlanTarget): number {
  const { whole, none, rate } = leftInL2;
  const held = Math.min(bytes, whole * l2Bytes) / (rate * bandwidth.l2);
  const lost = Math.min(1, Math.max(0, (bytes / l2Bytes - whole) / (none - whole)));
  return (1 - lost) * held + (lost * bytes) / bandwidth.dram;
}

/** Of a kernel that moves little, beside its launch: bench/results/gpu-norm-fp16.json and gpu-chain.json. */
const fillMicroseconds = 0.2;
/** Of the CUDA cores' rate, what kernels reach that keep nothing in registers (estimated). */
const plainShare = 0.15;

/** From a load's issue until its data is there from the L2, in a loop that waits for it (bench/measurements/h200-runtime-steps.jsonl). */
const roundClocks = 440;

/** From a cold L2, unless said otherwise. */
export function passMicroseconds(
  { bytes, passes = 1, instructions = 0, rounds = 0, isLeftInL2 = false }: PassWork,
  target: PlanTarget,
): number {
  const { bandwidth, flopPerClock, multiprocessors, clocksPerMicrosecond } = target;
  const memory = passes * (isLeftInL2 ? leftMicroseconds(bytes, target) : bytes / bandwidth.dram);
  const compute = instructions / ((flopPerClock.cuda / 2) * multiprocessors * clocksPerMicrosecond);
  const busy = Math.max(memory, compute);
  return target.launchMicroseconds + fillMicroseconds + waitMicroseconds(rounds, target) + busy;
}

/** Of loads from the L2 that are waited for one after another. */
export function waitMicroseconds(rounds: number, { clocksPerMicrosecond }: PlanTarget): number {
  return (rounds * roundClocks) / clocksPerMicrosecond;
}

// Of whole runs on an H100 from a cold L2, 2026-11-28: 36 models as exported, and 33 at batch 8 and at 32 (bench/measurements/h100-runtime-batches.jsonl;
// `node scripts/run.mjs bench/fit-runs.ts`).

/** Of the time that a launch's bytes take from DRAM, what nothing hides in a model: operands arrive while its own pipeline fills. */
const exposedShare = 1.02;
/** Bytes of a launch that this is true of: its beginning and its end. */
const mostExposedBytes = 3e6;
/**
 * Between a launch and the one that it depends on, beside its own launch. Chains of element-wise operations begin while the launch before drains, and have the
 * next one's weights fetched meanwhile (ADR 54, ADR 57): they take less than by themselves. Where launches overlap, 49 models as exported on an H200
 * (`dist/gpu/in-run.js --last`, 2026-11-30; judged on another: bench/results/truth-runtime.md).
 */
const betweenMicroseconds = {
  overlapping: { built: 0.01, ptx: -0.5 },
  apart: { built: 0.07, ptx: -0.11 },
} as const;
/** From the graph's launch until its first kernel runs: the first kernels of 19 models take 2.5 to 4.3 µs more than by themselves (h100-model-steps.jsonl). */
export const runStartMicroseconds = 3.3;

/** As part of a model's run: later than by itself, by what nothing hides; less where others run beside it. */
export function predictedMicroseconds(action: Action, target: PlanTarget): number {
  const exposed = exposedShare * Math.min(movedBytes(action), mostExposedBytes);
  const betweens = betweenMicroseconds[target.features.overlap ? "overlapping" : "apart"];
  const between = betweens[action.kind === "launch" ? action.launch.kernel.kind : "built"];
  const start = action.opensRun === true ? runStartMicroseconds : 0;
  const inOrder = start + aloneMicroseconds(action, target) + between + exposed / target.bandwidth.dram;
  return (action.runShare ?? 1) * inOrder;
}

/** From a cold L2, nothing before it. */
export function aloneMicroseconds(action: Action, target: PlanTarget): number {
  const bytes = movedBytes(action);
  if (action.kind === "clear") return passMicroseconds({ bytes }, target);
  const { predictedMicroseconds: own, flops = 0 } = action.launch;
  return own ?? passMicroseconds({ bytes, instructions: flops / 2 / plainShare }, target);
}

/** Read and written, each byte once. */
export function movedBytes(action: Action): number {
  const own = action.kind === "launch" ? action.launch.movedBytes : undefined;
  return own ?? bytesMoved(touched(action).flat());
}

/** Elements that repeat count once, and so does a view that is named twice. */
export function bytesMoved(views: readonly View[]): number {
  const sizes = new Map<string, number>();
  for (const view of views) {
    const { buffer, offset, shape, strides, type } = view;
    const name = `${buffer.id} ${offset} ${shape.join(",")} ${strides.join(",")}`;
    sizes.set(name, distinctCount(view) * bytesOfType(type));
  }
  return [...sizes.values()].reduce((total, each) => total + each, 0);
}
