/** @file The ladder of attention: a softmax between two products. */
import type { View } from "../../../cuda-runtime/ir/view.ts";
import { emitAttention, unlimited } from "../../../cuda-runtime/kernels/attention/attention.ts";
import {
  emitLadderAttentionApart,
  emitLadderAttentionOnline,
  type LadderAttention,
} from "../../../cuda-runtime/kernels/ladder/attention.ts";
import type { Content } from "../../../cuda-runtime/session/kernel-timer.ts";
import { maxOf } from "../../ir/lists.ts";
import type { LadderWork, Operands, Reference } from "./work.ts";

export interface AttentionSize {
  readonly batch: number;
  readonly heads: number;
  /** Of queries and of keys. */
  readonly length: number;
  readonly dim: number;
}

/** Scores of gigabytes, and scores that an L2 holds: BERT's. */
const sizes: readonly AttentionSize[] = [
  { batch: 4, heads: 16, length: 2048, dim: 64 },
  { batch: 32, heads: 12, length: 128, dim: 64 },
];

/** What is drawn is small: with one over the root of the head's size, all weights would be alike, and a wrong softmax right. */
const scale = 8;

export const attentionWorks: readonly LadderWork[] = sizes.map(workOf);

function workOf(size: AttentionSize): LadderWork {
  const { batch, heads, length, dim } = size;
  const rows = batch * heads * length;
  const reference: LadderWork["rungs"][number]["reference"] = (contents) =>
    attentionElement(size, scale, {
      q: contents("float16", 1),
      k: contents("float16", 2),
      v: contents("float16", 3),
    });
  return {
    title: `FP16 ${batch} × ${heads} heads, ${length} × ${length} × ${dim}`,
    product: "fp16",
    flops: 4 * rows * length * dim,
    leastBytes: 2 * 4 * rows * dim,
    // Weights and results are rounded to half, scores too where they are written.
    tolerance: 4e-3,
    rungs: [
      {
        name: "scores in memory",
        change:
          "Three launches: a product on Tensor Cores, a softmax of each row, another product; scores and weights go through memory.",
        emit: (set) => emitOwn(set, size, emitLadderAttentionApart),
        reference,
      },
      {
        name: "online softmax",
        change:
          "One launch on mma.sync: a block walks along the keys, keeps its largest scores and the sums so far, and shrinks these when a larger score comes; no score is ever in memory.",
        emit: (set) => emitOwn(set, size, emitLadderAttentionOnline),
        reference,
      },
      {
        name: "planner's kernel",
        change:
          "Copies under way beside the products, tiles that fit the size: the kernel that plans launch on this GPU.",
        emit: (set) => emitPlanned(set, size),
        reference,
      },
    ],
    bounds: () => [],
    peer: {
      name: "PyTorch (scaled_dot_product_attention)",
      operation: { op: "attention", ...size, dtype: "fp16" },
    },
  };
}

function emitOwn(
  set: Operands,
  { batch, heads, length, dim }: AttentionSize,
  emit: (emitter: Operands["emitter"], request: LadderAttention) => void,
): View {
  const shape = [batch * heads, length, dim];
  const tensor = (seed: number) => set.tensor("input", "float16", shape, seed);
  const o = set.output("float16", shape);
  emit(set.emitter, { q: tensor(1), k: tensor(2), v: tensor(3), o, scale });
  return o;
}

function emitPlanned(set: Operands, { batch, heads, length, dim }: AttentionSize): View {
  const shape = [batch, heads, length, dim];
  const tensor = (seed: number) => set.tensor("input", "float16", shape, seed);
  const o = set.output("float16", shape);
  emitAttention(set.emitter, {
    ...{ q: tensor(1), k: tensor(2), v: tensor(3), o, scale },
    softcap: 0,
    position: 0,
    left: unlimited,
    right: unlimited,
    emptyRows: "nan",
  });
  return o;
}

/** Of a packed result. */
export function attentionElement(
  { length, dim }: AttentionSize,
  factor: number,
  { q, k, v }: Readonly<Record<"q" | "k" | "v", Content>>,
): Reference {
  return (index) => {
    const row = Math.floor(index / dim);
    const first = Math.floor(row / length) * length * dim;
    const scores = Array.from({ length }, (_, key) => {
      let sum = 0;
      for (let d = 0; d < dim; d++) sum += q.at(row * dim + d) * k.at(first + key * dim + d);
      return sum * factor;
    });
    const largest = maxOf(scores);
    let [total, sum] = [0, 0];
    for (const [key, score] of scores.entries()) {
      const weight = Math.exp(score - largest);
      total += weight;
      sum += weight * v.at(first + key * dim + (index % dim));
    }
    return sum / total;
  };
}
