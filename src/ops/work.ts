/**
 * @file What an operator asks of a GPU, free of operators: the input of the cost model.
 *
 * `D` is `Dim` as extracted from a graph and `number` once symbols are bound.
 */

import { type Dim, evaluateDim } from "../ir/dim.ts";
import type { DType } from "../ir/dtype.ts";

/** batch × (C[M,N] = A[M,K] · B[K,N]), everything row-major as the operands are stored. */
export interface GemmWork<D = Dim> {
  readonly kind: "gemm";
  readonly batch: D;
  readonly m: D;
  readonly n: D;
  readonly k: D;
  /** A is stored [K,M]: M is its contiguous axis, else K. */
  readonly transA: boolean;
  /** B is stored [N,K]: K is its contiguous axis, else N. */
  readonly transB: boolean;
  /** B does not depend on the batch index (weights): one product of batch·M rows. */
  readonly sharedB: boolean;
  /** Different matrices of A and of B, where they are broadcast over the batch: fewer than it has. */
  readonly matricesA?: D;
  readonly matricesB?: D;
  readonly dtype: DType;
  /** Of an element of B as it is stored, scales included, where that is fewer than `dtype` has: expanded on the way. */
  readonly weightBits?: number;
}

/** A convolution over 1 to 3 spatial axes, or its transpose. `channels` and `filters` count all groups. */
export interface ConvWork<D = Dim> {
  readonly kind: "conv";
  readonly batch: D;
  readonly channels: D;
  readonly filters: D;
  readonly groups: D;
  /** Spatial sizes. For a transposed convolution `output` is the larger one. */
  readonly input: readonly D[];
  readonly output: readonly D[];
  readonly kernel: readonly D[];
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
  readonly layout: "nchw" | "nhwc";
  readonly transposed: boolean;
  readonly dtype: DType;
}

/** softmax(Q·Kᵀ)·V for every batch and head. */
export interface AttentionWork<D = Dim> {
  readonly kind: "attention";
  readonly batch: D;
  readonly heads: D;
  readonly kvHeads: D;
  readonly queryLength: D;
  readonly keyLength: D;
  readonly headDim: D;
  readonly valueHeadDim: D;
  readonly causal: boolean;
  /** An additive or boolean mask (or bias) is read. */
  readonly masked: boolean;
  readonly dtype: DType;
}

/** LSTM (4 gates), GRU (3), RNN (1): one input product for all steps, then a chain of `steps` small ones. */
export interface RecurrentWork<D = Dim> {
  readonly kind: "recurrent";
  readonly steps: D;
  readonly batch: D;
  readonly inputSize: D;
  readonly hiddenSize: D;
  readonly gates: number;
  readonly directions: number;
  /** Two of each gate are read, of the product with the input and of the one with the state. */
  readonly biased?: true | undefined;
  readonly dtype: DType;
}

/** How a memory-bound operator walks its data. */
export type TrafficPattern =
  /** One pass, lane by lane: fuses into a neighbour on most stacks. */
  | "elementwise"
  /** One pass that moves elements: transposes, concatenations, slices, gathers, pads, resizes. */
  | "copy"
  /** Rows of `columns` contiguous elements reduced to one. */
  | "reduction"
  /** Rows reduced and rescaled: softmax, layer, group and instance normalization. */
  | "normalization"
  /** Windows over spatial axes. */
  | "pool";

/** Passes over memory that were measured by themselves (operators of PyTorch): what a pattern alone does not say. */
export const trafficVariants = [
  "add",
  "relu",
  "silu",
  "gelu",
  "broadcast",
  "batchnorm",
  "cast",
  "copy",
  "transpose",
  "permute",
  "concat",
  "slice",
  "gather",
  "upsample",
  "pad",
  "mean",
  "globalpool",
  "layernorm",
  "softmax",
  "groupnorm",
  "maxpool",
  "avgpool",
  "bias",
  "batchnorm_nchw",
  "gather_single",
] as const;

export type TrafficVariant = (typeof trafficVariants)[number];

export interface TrafficWork<D = Dim> {
  readonly kind: "traffic";
  readonly pattern: TrafficPattern;
  /** rows × columns = elements walked; `columns` is the reduced (or innermost) extent. */
  readonly rows: D;
  readonly columns: D;
  readonly bytesRead: D;
  readonly bytesWritten: D;
  readonly dtype: DType;
  /** Rows that a compiled loop reduces and rescales, with the loops around it, where others of the pattern run as libraries have them. */
  readonly isLoop?: true;
  /** Where data decides how much is done besides: operations, and bytes written, at the most. */
  readonly mostOperations?: D;
  readonly mostBytes?: D;
}

export type ProductWork<D = Dim> = GemmWork<D> | ConvWork<D> | AttentionWork<D> | RecurrentWork<D>;
export type Work<D = Dim> = ProductWork<D> | TrafficWork<D>;

/** The work with every symbol bound, or undefined where some size stays unknown. */
export function bindWork<W extends Work>(
  work: W,
  bindings: ReadonlyMap<string, number>,
): Bound<W> | undefined {
  if (isBound(work)) return work;
  const bound: Record<string, unknown> = {};
  for (const [key, field] of Object.entries(work)) {
    const value = bindField(field, bindings);
    if (value === undefined) return undefined;
    bound[key] = value;
  }
  return bound as unknown as Bound<W>;
}

/** `Work<Dim>` to `Work<number>`, kind by kind. */
export type Bound<W extends Work> = Extract<Work<number>, { kind: W["kind"] }>;

/** Most models have no symbols in what they compute: no copy. */
function isBound<W extends Work>(work: W): work is W & Bound<W> {
  const fields = work as unknown as Readonly<Record<string, unknown>>;
  for (const name in fields) {
    const field = fields[name];
    if (Array.isArray(field) ? field.some((entry) => typeof entry === "object") : typeof field === "object")
      return false;
  }
  return true;
}

function bindField(field: unknown, bindings: ReadonlyMap<string, number>): unknown {
  if (Array.isArray(field)) {
    const values = field.map((entry) => bindField(entry, bindings));
    return values.includes(undefined) ? undefined : values;
  }
  return typeof field === "object" && field !== null ? evaluateDim(field as Dim, bindings) : field;
}

/** Multiply-adds counted as two operations. */
export function flopsOf(work: Work<number>): number {
  switch (work.kind) {
    case "gemm":
      return 2 * work.batch * work.m * work.n * work.k;
    case "conv": {
      const taps = volume(work.kernel) * (work.channels / work.groups);
      const positions = volume(work.transposed ? work.input : work.output);
      return 2 * work.batch * positions * work.filters * taps;
    }
    case "attention": {
      const scores = work.batch * work.heads * work.queryLength * work.keyLength;
      return 2 * scores * (work.headDim + work.valueHeadDim) * (work.causal ? 0.5 : 1);
    }
    case "recurrent": {
      const perStep = work.gates * work.hiddenSize * (work.inputSize + work.hiddenSize);
      return 2 * work.steps * work.batch * work.directions * perStep;
    }
    case "traffic":
      return work.rows * work.columns;
  }
}

/** Whether there is no element to compute: libraries launch no kernel for it. */
export function isNothing(work: Work<number>): boolean {
  return flopsOf(work) === 0;
}

export function volume(sizes: readonly number[]): number {
  return sizes.reduce((total, size) => total * size, 1);
}
