/** @file What the analytic terms say of one piece of work, and what the fitted residual wants to know of it. */
import type { ComputeType } from "../hardware/target.ts";
import type { Range } from "./calibration.ts";
import type { Bound } from "./model.ts";

/** Work that shares a residual; "walk" is traffic of which only the pattern is known. */
export type Family = "gemm" | "conv" | "attention" | "traffic" | "walk" | "recurrent";

export interface Sketch {
  readonly family: Family;
  /** The analytic terms alone. */
  readonly microseconds: number;
  readonly bound: Bound;
  readonly tensorCore: boolean;
  /** What it is computed in; of memory passes, how wide an element is. */
  readonly format: ComputeType | number;
  /** Of a convolution. */
  readonly layout?: "nchw" | "nhwc";
  readonly bytes: number;
  /** Of a recurrence: all that its chain of steps depends on. Two of one chain differ by the product of all inputs alone. */
  readonly chain?: string;
  /** Factors on `microseconds` that enclose it, where nothing like it was measured. */
  readonly range?: Range;
  /** The convolution's bias pass within `microseconds`. */
  readonly biasMicroseconds: number;
  /** In the order of the family's names; the residual reads them. */
  readonly features: readonly number[];
}

/**
 * As the residual was fitted with. Of 8 bits nothing was measured: beyond the last of these it was read as what FP32 takes longer on CUDA cores than the terms
 * say, so that codes took longer than FP16 whose kernels they have.
 */
const formatFeatures: Readonly<Record<ComputeType, number>> = {
  fp16: 0,
  bf16: 1,
  tf32: 2,
  fp32: 3,
  fp64: 3,
  int8: 0,
  fp8: 0,
};

export function formatFeature(type: ComputeType): number {
  return formatFeatures[type];
}

/** The largest term's name; a launch floor above all of them wins. */
export function boundOf(
  compute: number,
  memory: number,
  launch: number,
  tensorCore: boolean,
  fitsL2: boolean,
): Bound {
  if (launch > compute && launch > memory) return "launch";
  if (compute >= memory) return tensorCore ? "tensor-core" : "cuda-core";
  return fitsL2 ? "l2" : "dram";
}

export function log2(value: number): number {
  return Math.log2(Math.max(value, 1e-3));
}

/** The largest power of two, at most 16, that divides `bytes`. */
export function alignmentBytes(bytes: number): number {
  for (const step of [16, 8, 4, 2]) if (bytes % step === 0) return step;
  return 1;
}

/** The same up to 256 bytes, as a logarithm: whole sectors, cache lines and tiles store faster, too. */
export function alignmentClass(bytes: number): number {
  let steps = 0;
  while (steps < 8 && bytes % 2 ** (steps + 1) === 0) steps++;
  return steps;
}

/** `size` rounded up to whole `step`s. */
export function roundUp(size: number, step: number): number {
  return Math.ceil(size / step) * step;
}
