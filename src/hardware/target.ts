/** @file What a model runs on: a GPU, a stack, and the number format the stack is asked to compute in. */
import type { Gpu, TensorCoreType } from "./gpus.ts";
import type { Stack } from "./stacks.ts";

/** "as-is" computes in the model's own types. FP8 is what a file was quantized to, not what a stack is asked for. */
export type Precision = Exclude<TensorCoreType, "fp8"> | "fp32" | "as-is";

/** The format a product's operands have when it runs. */
export type ComputeType = TensorCoreType | "fp32" | "fp64";

export interface Target {
  readonly gpu: Gpu;
  readonly stack: Stack;
  readonly precision: Precision;
}

export function isSameTarget(a: Target, b: Target): boolean {
  return a.precision === b.precision && a.gpu === b.gpu && a.stack === b.stack;
}

const computeBytes = {
  fp16: 2,
  bf16: 2,
  tf32: 4,
  int8: 1,
  fp8: 1,
  fp32: 4,
  fp64: 8,
} as const satisfies Record<ComputeType, number>;

/** Bytes of one operand element in memory. */
export function bytesOfCompute(type: ComputeType): number {
  return computeBytes[type];
}
