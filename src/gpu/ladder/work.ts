/** @file What a ladder is made of: pieces of work, and the kernels that do each. */
import type { Emitter } from "../../../cuda-runtime/ir/emitter.ts";
import type { StorageType } from "../../../cuda-runtime/ir/storage.ts";
import type { View } from "../../../cuda-runtime/ir/view.ts";
import type { CallSet, Content } from "../../../cuda-runtime/session/kernel-timer.ts";
import type { Bound } from "./report.ts";

/** Where a rung's tensors come from, and its launches go to. */
export interface Operands extends Pick<CallSet, "tensor" | "output"> {
  readonly emitter: Emitter;
}

/** What tensors of a seed are filled with. */
export type Contents = (type: StorageType, seed: number) => Content;

/** The element at an index of a result as it lies in memory, in double precision. */
export type Reference = (index: number) => number;

/** Shapes as PyTorch's side reads them (peers.py). */
export type PeerOperation = Readonly<Record<string, string | number>>;

export interface LadderRung {
  readonly name: string;
  /** Against the rung before, in a sentence. */
  readonly change: string;
  /** Of the largest of the sampled elements; the work's unless given. */
  readonly tolerance?: number;
  /** Of a block; GPUs that have less leave the rung out. */
  readonly sharedBytes?: number;
  /** Returns the result as it is in memory. */
  readonly emit: (set: Operands) => View;
  readonly reference: (contents: Contents) => Reference;
}

/** FLOP/s. */
export interface Rates {
  readonly tensor: number;
  readonly cuda: number;
}

export interface LadderWork {
  /** `FP16 N 32, C 64, 56 × 56, K 64, 3 × 3`. */
  readonly title: string;
  /** What Tensor Cores would multiply; undefined where there is no product, so that memory alone bounds the time. */
  readonly product: "fp16" | "bf16" | undefined;
  /** Multiply-adds count two. */
  readonly flops: number;
  /** Of operands and result, each byte that is needed once. */
  readonly leastBytes: number;
  /** Of every rung, where data decides which operands are read; else what its launches read and write. */
  readonly dramBytes?: number;
  readonly tolerance: number;
  readonly rungs: readonly LadderRung[];
  /** Ways that nobody took, by what the GPU allows them. */
  readonly bounds: (rates: Rates) => readonly Bound[];
  /** What PyTorch calls, and by which library. */
  readonly peer: { readonly name: string; readonly operation: PeerOperation };
}
