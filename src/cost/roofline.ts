/** @file The plain roofline with alignment classes: a first answer for any work. */
import { bytesOfCompute, type ComputeType, type Target } from "../hardware/target.ts";
import { flopsOf, volume, type Work } from "../ops/work.ts";
import type { Bound, Estimate } from "./model.ts";
import { bytesAt, computeDtype } from "./precision.ts";

const launchMicroseconds = 2.2;

interface Terms {
  readonly flops: number;
  readonly bytes: number;
  /** Elements along each axis that must be contiguous for vector loads. */
  readonly contiguous: readonly number[];
  readonly tensorCore: boolean;
  readonly efficiency: number;
}

export function rooflineOf(work: Work<number>, target: Target): Estimate {
  const type = computeDtype(work.dtype, target.precision);
  const terms = termsOf(work, target, type);
  const alignment = target.stack.alignment[type];
  const slowdown = Math.max(1, ...terms.contiguous.map((axis) => slowdownOf(axis, alignment)));
  const rate = terms.tensorCore ? target.gpu.tensorTflops[type === "fp32" ? "tf32" : type] : undefined;
  const compute = ((terms.flops * slowdown) / ((rate ?? target.gpu.cudaTflops) * terms.efficiency)) * 1e-6;
  const dram = (terms.bytes / (target.gpu.dramGBps * 0.85)) * 1e-3;
  const busy = Math.max(compute, dram);
  const microseconds = launchMicroseconds + busy;
  const bound: Bound =
    busy < launchMicroseconds
      ? "launch"
      : dram > compute
        ? "dram"
        : rate === undefined
          ? "cuda-core"
          : "tensor-core";
  return {
    microseconds,
    low: microseconds * 0.6,
    high: microseconds * 1.7,
    bound,
    tensorCore: rate !== undefined,
    flops: flopsOf(work),
    bytes: terms.bytes,
    biasMicroseconds: 0,
  };
}

function slowdownOf(axis: number, alignment: number): number {
  if (axis % alignment === 0) return 1;
  return axis % 2 === 0 ? 3 : 7;
}

function termsOf(work: Work<number>, target: Target, type: ComputeType): Terms {
  const width = bytesOfCompute(type);
  const flops = flopsOf(work);
  const tensorCore = type !== "fp32";
  switch (work.kind) {
    case "gemm": {
      const { batch, m, n, k } = work;
      const bytes = width * (batch * m * (k + n) + (work.sharedB ? 1 : batch) * k * n);
      const contiguous = [work.transA ? m : k, work.transB ? k : n, n];
      return { flops, bytes, contiguous, tensorCore, efficiency: 0.75 };
    }
    case "conv": {
      const read = work.batch * work.channels * volume(work.input);
      const written = work.batch * work.filters * volume(work.output);
      const weights = (work.filters * work.channels * volume(work.kernel)) / work.groups;
      const depthwise = work.groups === work.channels;
      return {
        flops,
        bytes: width * (read + written + weights),
        contiguous: depthwise || work.channels < 8 ? [] : [work.channels / work.groups, work.filters],
        tensorCore: tensorCore && !depthwise,
        efficiency: work.groups > 1 ? 0.2 : 0.5,
      };
    }
    case "attention": {
      const { queryLength: q, keyLength: s, headDim, valueHeadDim } = work;
      const perHead = q * (headDim + valueHeadDim);
      const bytes = width * work.batch * (work.heads * perHead + work.kvHeads * s * (headDim + valueHeadDim));
      const step = target.stack.attention.headDimSteps.find((size) => size >= headDim) ?? headDim;
      const fast = headDim % target.stack.attention.headDimMultiple === 0;
      return {
        flops: (flops * step) / headDim,
        bytes,
        contiguous: [],
        tensorCore,
        efficiency: fast ? 0.45 : 0.2,
      };
    }
    case "recurrent": {
      const weights = work.directions * work.gates * work.hiddenSize * (work.inputSize + work.hiddenSize);
      const states = work.steps * work.batch * (work.inputSize + work.directions * work.hiddenSize);
      return {
        flops,
        bytes: width * (weights + states),
        contiguous: [work.hiddenSize],
        tensorCore,
        efficiency: 0.1,
      };
    }
    case "traffic": {
      const scale = bytesAt(work.dtype, target.precision) / Math.max(bytesAt(work.dtype, "as-is"), 1 / 8);
      const bytes = (work.bytesRead + work.bytesWritten) * scale;
      return { flops, bytes, contiguous: [], tensorCore: false, efficiency: 0.5 };
    }
  }
}
