/** @file What a launch takes: by its family's own model where it has one, else as a pass over memory. */

import { type Action, type PlanTarget, touched } from "../ir/step.ts";
import { bytesOfType } from "../ir/storage.ts";
import type { View } from "../ir/view.ts";

export interface PassWork {
  /** Read and written, each byte once. */
  readonly bytes: number;
  /** Time over memory against a plain pass, which a chain of two operands is; 1 unless given. */
  readonly passes?: number | undefined;
  /** Of all threads, on CUDA cores; a multiply-add is one. None unless given. */
  readonly instructions?: number | undefined;
}

/** Of a kernel that moves little, beside its launch: bench/results/gpu-norm-fp16.json and gpu-chain.json. */
const fillMicroseconds = 0.2;
/** Of the CUDA cores' rate, what kernels reach that keep nothing in registers (estimated). */
const plainShare = 0.15;

/** From a cold L2. */
export function passMicroseconds(
  { bytes, passes = 1, instructions = 0 }: PassWork,
  target: PlanTarget,
): number {
  const { bandwidth, flopPerClock, multiprocessors, clocksPerMicrosecond } = target;
  const memory = (passes * bytes) / bandwidth.dram;
  const compute = instructions / ((flopPerClock.cuda / 2) * multiprocessors * clocksPerMicrosecond);
  return target.launchMicroseconds + fillMicroseconds + Math.max(memory, compute);
}

export function predictedMicroseconds(action: Action, target: PlanTarget): number {
  const bytes = bytesMoved(touched(action).flat());
  if (action.kind === "clear") return passMicroseconds({ bytes }, target);
  const { predictedMicroseconds: own, flops = 0 } = action.launch;
  return own ?? passMicroseconds({ bytes, instructions: flops / 2 / plainShare }, target);
}

/** Elements that repeat count once, and so does a view that is named twice. */
export function bytesMoved(views: readonly View[]): number {
  const sizes = new Map<string, number>();
  for (const { buffer, offset, shape, strides, type } of views) {
    const own = shape.filter((_, axis) => strides[axis] !== 0);
    const count = own.reduce((total, size) => total * size, 1);
    sizes.set(`${buffer.id} ${offset} ${shape.join(",")} ${strides.join(",")}`, count * bytesOfType(type));
  }
  return [...sizes.values()].reduce((total, each) => total + each, 0);
}
