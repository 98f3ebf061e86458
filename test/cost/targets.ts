/** @file Targets and short spellings of work for the tests of this folder. */
import { findGpu } from "../../src/hardware/gpus.ts";
import { type StackId, stacks } from "../../src/hardware/stacks.ts";
import type { Precision, Target } from "../../src/hardware/target.ts";
import type { AttentionWork, ConvWork, GemmWork, TrafficWork } from "../../src/ops/work.ts";

export function targetOf(gpuId = "h200", stack: StackId = "cudnn", precision: Precision = "as-is"): Target {
  const gpu = findGpu(gpuId);
  if (gpu === undefined) throw new Error(`no GPU row ${gpuId}`);
  return { gpu, stack: stacks[stack], precision };
}

/** x[M,K] · w[N,K]ᵀ, as measured. */
export function gemm(m: number, n: number, k: number): GemmWork<number> {
  return { kind: "gemm", batch: 1, m, n, k, transA: false, transB: true, sharedB: true, dtype: "float16" };
}

export interface ConvShape {
  readonly batch?: number;
  readonly channels: number;
  readonly filters: number;
  readonly side: number;
  readonly taps?: number;
  readonly stride?: number;
  readonly groups?: number;
  readonly layout?: "nhwc" | "nchw";
}

/** Square, padded by half the kernel. */
export function conv(shape: ConvShape): ConvWork<number> {
  const { batch = 32, channels, filters, side, taps = 3, stride = 1, groups = 1, layout = "nhwc" } = shape;
  const out = Math.floor((side + 2 * Math.floor(taps / 2) - taps) / stride) + 1;
  return {
    kind: "conv",
    batch,
    channels,
    filters,
    groups,
    input: [side, side],
    output: [out, out],
    kernel: [taps, taps],
    strides: [stride, stride],
    dilations: [1, 1],
    layout,
    transposed: false,
    dtype: "float16",
  };
}

export function attention(headDim: number, length = 2048): AttentionWork<number> {
  return {
    kind: "attention",
    batch: 4,
    heads: 16,
    kvHeads: 16,
    queryLength: length,
    keyLength: length,
    headDim,
    valueHeadDim: headDim,
    causal: false,
    masked: false,
    dtype: "float16",
  };
}

export function elementwise(elements: number): TrafficWork<number> {
  return {
    kind: "traffic",
    pattern: "elementwise",
    rows: elements / 64,
    columns: 64,
    bytesRead: 2 * elements,
    bytesWritten: 2 * elements,
    dtype: "float16",
  };
}
