/** @file Launches of the ladder's attention. */
import type { Emitter } from "../../ir/emitter.ts";
import { OperandError } from "../../ir/operand-error.ts";
import { writeParams } from "../../ir/param-table.ts";
import { isPacked, type View } from "../../ir/view.ts";
import { ladderAttentionStruct } from "./params.table.ts";

/** Packed FP16, [heads of all batches, length, 64] each. */
export interface LadderAttention {
  readonly q: View;
  readonly k: View;
  readonly v: View;
  readonly o: View;
  readonly scale: number;
}

/** Queries and keys of a block, and the size of a head. */
const tile = 64;
const productThreads = 128;
const softmaxThreads = 256;

/** With scores in memory: product, softmax, product. Throws OperandError for sizes that it does not take. */
export function emitLadderAttentionApart(emitter: Emitter, request: LadderAttention): void {
  const { q, k, v, o, scale } = request;
  const { heads, length } = checked(request);
  const scores = emitter.temporary("float16", [heads, length, length]);
  const params = writeParams(ladderAttentionStruct, { q, k, v, o, scores, heads, length, scale });
  const tiles = length / tile;
  const flops = 2 * heads * length * length * tile;
  const common = { sharedBytes: 0, params };
  emitter.launch({
    ...common,
    kernel: kernelOf("scores"),
    grid: [tiles, tiles, heads],
    block: [productThreads, 1, 1],
    reads: [q, k],
    writes: [scores],
    flops,
  });
  emitter.launch({
    ...common,
    kernel: kernelOf("softmax"),
    grid: [Math.ceil((heads * length) / (softmaxThreads / 32)), 1, 1],
    block: [softmaxThreads, 1, 1],
    reads: [scores],
    writes: [scores],
    // In place: read, and written.
    movedBytes: 4 * heads * length * length,
  });
  emitter.launch({
    ...common,
    kernel: kernelOf("values"),
    grid: [tiles, heads, 1],
    block: [productThreads, 1, 1],
    reads: [scores, v],
    writes: [o],
    flops,
  });
}

/** In one launch, no score ever in memory. */
export function emitLadderAttentionOnline(emitter: Emitter, request: LadderAttention): void {
  const { q, k, v, o, scale } = request;
  const { heads, length } = checked(request);
  emitter.launch({
    kernel: kernelOf("online"),
    grid: [length / tile, heads, 1],
    block: [productThreads, 1, 1],
    sharedBytes: 0,
    params: writeParams(ladderAttentionStruct, { q, k, v, o, scores: undefined, heads, length, scale }),
    reads: [q, k, v],
    writes: [o],
    flops: 4 * heads * length * length * tile,
  });
}

function kernelOf(name: string) {
  return { kind: "built", family: "ladder", entry: `ladder_attention_${name}` } as const;
}

function checked({ q, k, v, o }: LadderAttention): { heads: number; length: number } {
  const [heads = 0, length = 0, dim = 0] = q.shape;
  const isRight = [q, k, v, o].every(
    (view) => view.type === "float16" && isPacked(view) && String(view.shape) === String(q.shape),
  );
  if (!isRight) throw new OperandError("a ladder's attention of other than packed halves of one shape");
  if (dim !== tile || length % tile !== 0)
    throw new OperandError(`heads of ${dim}, no ${tile}, or a length of ${length}, no multiple of it`);
  if (Math.max(heads, length / tile) > 65_535 || heads * length >= 2 ** 31)
    throw new OperandError("a grid of more than 65,535 blocks along an axis, or rows that nobody can count");
  return { heads, length };
}
