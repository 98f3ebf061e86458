/** @file Launches of attention: which tile, and how many splits of the keys. */

import { emitCheapest } from "../../cost/candidate.ts";
import { bytesMoved } from "../../cost/predict.ts";
import type { Emitter } from "../../ir/emitter.ts";
import { type Question, questionKey } from "../../ir/question.ts";
import type { PlanTarget } from "../../ir/step.ts";
import { isHalfStorage } from "../../ir/storage.ts";
import { alignmentOf, elementCount, sliced, type View } from "../../ir/view.ts";
import type { CodeNumbers } from "../gemm-int8/codes.ts";
import { typeNames } from "../norm/rows.ts";

import { type AttentionChoice, attentionCandidates, fittingTiles } from "./choose.ts";
import { canFetch, hopperParams } from "./hopper-params.ts";
import { attentionParams, type scoresModes } from "./params.ts";
import { sharingKeys } from "./sharing.ts";
import type { TensorTile } from "./tiles.ts";

export { scoresModes, unlimited } from "./params.ts";

/** Larger heads have no kernel. */
export const maxHeadDim = 256;

export interface AttentionMasks {
  /**
   * Added to the scores: [outer batch, inner batch, heads, queries, keys] by strides, 0 where it repeats; the two
   * batches multiply to the batch. float32, or the type of q.
   */
  readonly bias?: View | undefined;
  /** -inf in the bias stands for a low number that its type cannot hold: a row of nothing else is an average. */
  readonly isSoftInfinity?: boolean | undefined;
  /** Bytes, same axes: where 0, the score is `fill`. */
  readonly keep?: View | undefined;
  readonly fill?: number | undefined;
  /** [batch], packed int64: later keys are left out. */
  readonly keyCounts?: View | undefined;
}

export interface AttentionRequest extends AttentionMasks {
  /** [batch, heads, queries, dim] of a float type, the last axis contiguous. */
  readonly q: View;
  /** [batch, heads / group, keys, dim] */
  readonly k: View;
  /** [batch, heads / group, keys, value dim] */
  readonly v: View;
  /** [batch, heads, queries, value dim] */
  readonly o: View;
  /** What the output's codes stand for, where it is of codes: heads of an even size, the last axis contiguous. */
  readonly codes?: CodeNumbers | undefined;
  readonly scale: number;
  /** 0 for none. */
  readonly softcap: number;
  /** Of query 0 among the keys; "end": the last query stands at the last key that counts. */
  readonly position: number | "end";
  /** A query sees keys from its position - left to its position + right; causal is right = 0. */
  readonly left: number;
  readonly right: number;
  /** What a row without any key is. */
  readonly emptyRows: "zero" | "nan";
}

/** `tile` is taken instead of the one that is predicted to be fastest: for measurements. */
export function emitAttention(emitter: Emitter, given: AttentionRequest, tile?: TensorTile): void {
  const request = sharingKeys(given) ?? given;
  const { k, o } = request;
  if (elementCount(o.shape) === 0) return;
  if ((k.shape[2] ?? 0) === 0) throw new Error("tc-lint bug: attention over no keys");
  if (canUseTensorCores(request, emitter.target)) emitOnTensorCores(emitter, request, tile);
  else emitPlain(emitter, request);
}

function canUseTensorCores({ q, k, v }: AttentionRequest, target: PlanTarget): boolean {
  if (!isHalfStorage(q.type) || k.type !== q.type || v.type !== q.type) return false;
  return q.type === "float16" ? target.features.half : target.features.bf16;
}

/** Biases and queries as the kernel takes them; where nothing fits into shared memory, the plain kernel. */
function emitOnTensorCores(emitter: Emitter, request: AttentionRequest, only: TensorTile | undefined): void {
  const { q, v, o } = request;
  const [batch = 1, heads = 1, queries = 1, dim = 1] = q.shape;
  const [keys = 1, valueDim = 1] = v.shape.slice(2);
  const isMasked = isMaskedRequest(request);
  const size = { blocks: batch * heads, queries, keys, dim: Math.max(dim, valueDim), isMasked };
  const fitting = only === undefined ? fittingTiles(size, emitter.target) : [only];
  if (fitting.length === 0) return emitPlain(emitter, request);
  const operands = {
    q: copyable(emitter, request.q),
    k: copyable(emitter, request.k),
    v: copyable(emitter, v),
  };
  const mayFetch = request.codes === undefined && canFetch(operands);
  const tiles = fitting.filter((tile) => tile.hopper === undefined || mayFetch);
  const ready = {
    ...request,
    ...operands,
    bias: biasFor(emitter, request),
    o: request.codes !== undefined || storable(o, q.type) ? o : paddedLike(emitter, o, q.type),
  };
  const work = {
    ...size,
    inputBytes: bytesMoved(readsOf(ready)),
    outputBytes: bytesMoved([ready.o]),
    partialFloats: partialDim(valueDim) + 2,
    isCausal: isCausal(request),
  };
  const question: Question<AttentionChoice> = {
    key: () => questionKey("attention", { ...ready, codes: undefined, isMasked, tiles: tiles.map(tileName) }),
    candidates: () => attentionCandidates(work, tiles, emitter.target),
    variantOf: ({ tile }) => tileName(tile),
    nameOf: ({ tile, splits }) => `${tileName(tile)}${splits > 1 ? `, ${splits} splits` : ""}`,
    emit: (to, choice) => launchTile(to, ready, choice),
  };
  // How long it takes is for the data to say where that counts the keys: nobody could measure it.
  const isEmitted =
    request.keyCounts === undefined ? emitter.choose(question) : emitCheapest(emitter, question);
  if (!isEmitted) throw new Error("tc-lint bug: no tile of attention");
  if (ready.o !== o) emitter.copy(ready.o, o);
}

function tileName({ headDim, isApart, rowTiles, keys, hopper }: TensorTile): string {
  if (hopper !== undefined) return `d${headDim}_h${hopper.groups}k${keys}${hopper.isPair ? "p" : ""}`;
  return `d${headDim}_${isApart ? "w4" : `m${rowTiles}`}`;
}

function isMaskedRequest({ bias, keep, softcap, scale }: AttentionRequest): boolean {
  // Without masks the scale goes into the exponent, which takes the largest score for the largest product.
  return bias !== undefined || keep !== undefined || softcap !== 0 || scale <= 0;
}

function isCausal({ right, position }: AttentionRequest): boolean {
  return right === 0 && position === 0;
}

/** Of a row of partial results: pairs are stored at once. */
function partialDim(valueDim: number): number {
  return valueDim + (valueDim % 2);
}

function launchTile(
  emitter: Emitter,
  request: AttentionRequest,
  { tile, splits, tileMicroseconds, combineMicroseconds }: AttentionChoice,
): void {
  const { q, o } = request;
  const [batch = 1, heads = 1, queries = 1, dim = 1] = q.shape;
  const [keys = 1, valueDim = 1] = request.v.shape.slice(2);
  const rows = batch * heads * queries;
  const isSplit = splits > 1;
  const partial = isSplit ? emitter.temporary("float32", [splits, rows, partialDim(valueDim)]) : undefined;
  const partialRows = isSplit ? emitter.temporary("float32", [splits, rows, 2]) : undefined;
  const writes = isSplit ? [partial, partialRows].filter((view) => view !== undefined) : [o];
  const outputs = { partial, partialRows, splits };
  const isHopper = tile.hopper !== undefined;
  const params = isHopper ? hopperParams(request, outputs, tile) : attentionParams(request, outputs);
  const form = isMaskedRequest(request) ? "masked" : "plain";
  const type = q.type === "float16" ? typeNames.float16 : typeNames.bfloat16;
  emitter.launch({
    kernel: {
      kind: "built",
      family: isHopper ? "attention-hopper" : "attention",
      entry: `attention_${type}_${tileName(tile)}_${form}`,
    },
    ...gridOf(tile, request, splits, emitter.target),
    block: [tile.threads, 1, 1],
    sharedBytes: tile.sharedBytes,
    params,
    reads: readsOf(request),
    writes,
    flops: 2 * rows * keys * (dim + valueDim),
    predictedMicroseconds: tileMicroseconds,
    detail: `${batch}x${heads} heads, ${queries}x${keys}x${dim}${isSplit ? `, ${splits} splits` : ""}`,
  });
  if (partial === undefined || partialRows === undefined) return;
  emitter.launch({
    kernel: { kind: "built", family: "attention", entry: "attention_combine" },
    grid: [Math.ceil(rows / 4), 1, 1],
    block: [128, 1, 1],
    sharedBytes: 0,
    params: isHopper ? attentionParams(request, outputs) : params,
    reads: [partial, partialRows],
    writes: [o],
    predictedMicroseconds: combineMicroseconds,
  });
}

/**
 * Hopper's blocks stay and take one tile after another, so that the next one's operands arrive while this one is stored; those of a pair take
 * two together. Where tiles differ in length, each has a block, which comes in when one is done.
 */
function gridOf(
  tile: TensorTile,
  request: AttentionRequest,
  splits: number,
  { multiprocessors }: PlanTarget,
) {
  const { hopper } = tile;
  const [batch = 1, heads = 1, queries = 1] = request.q.shape;
  const lines = batch * heads * splits;
  if (hopper === undefined) return { grid: [Math.ceil(queries / tile.queries) * lines, 1, 1] } as const;
  const together = hopper.isPair ? 2 : 1;
  const works = Math.ceil(queries / (together * tile.queries)) * lines;
  const most = Math.max(1, Math.floor((hopper.blocks * multiprocessors) / together));
  const grid = [together * (isUneven(request) ? works : Math.min(works, most)), 1, 1] as const;
  return hopper.isPair ? ({ grid, cluster: [2, 1, 1] } as const) : { grid };
}

/** Keys that a tile goes through without a window: so many that what a block saves between tiles counts less than even shares. */
const longKeys = 1024;

function isUneven({ k, left, right }: AttentionRequest): boolean {
  const keys = k.shape[2] ?? 1;
  return keys >= longKeys && Math.min(left, right) < keys;
}

/** Heads by tile of the plain kernel: queries and keys of a step. */
const plainTiles = [
  { headDim: 32, rows: 32 },
  { headDim: 64, rows: 32 },
  { headDim: 128, rows: 32 },
  { headDim: 256, rows: 16 },
] as const;

function emitPlain(emitter: Emitter, request: AttentionRequest): void {
  const [batch = 1, heads = 1, queries = 1, dim = 1] = request.q.shape;
  const [keys = 1, valueDim = 1] = request.v.shape.slice(2);
  const tile = plainTiles.find(({ headDim }) => headDim >= Math.max(dim, valueDim));
  if (tile === undefined) throw new Error(`tc-lint bug: no kernel for heads of ${dim} and ${valueDim}`);
  const { headDim, rows } = tile;
  emitter.launch({
    kernel: { kind: "built", family: "attention", entry: `attention_plain_d${headDim}` },
    grid: [Math.ceil(queries / rows) * batch * heads, 1, 1],
    block: [128, 1, 1],
    sharedBytes: 4 * (2 * rows * (headDim + 1) + rows * headDim + rows * (rows + 1)),
    params: attentionParams(request, { partial: undefined, partialRows: undefined, splits: 1 }),
    reads: readsOf(request),
    writes: [request.o],
    flops: 2 * batch * heads * queries * keys * (dim + valueDim),
    detail: `${batch}x${heads} heads, ${queries}x${keys}x${dim}`,
  });
}

/** The scores themselves, [batch, heads, queries, keys] packed: slow, for models that ask for them. */
export function emitScores(
  emitter: Emitter,
  request: Omit<AttentionRequest, "o" | "v">,
  scores: View,
  mode: keyof typeof scoresModes,
): void {
  const [batch = 1, heads = 1, queries = 1] = request.q.shape;
  if (elementCount(scores.shape) === 0) return;
  const whole = { ...request, v: request.k, o: request.q };
  emitter.launch({
    kernel: { kind: "built", family: "attention", entry: "attention_scores" },
    grid: [Math.ceil((batch * heads * queries) / 4), 1, 1],
    block: [128, 1, 1],
    sharedBytes: 0,
    params: attentionParams(whole, { partial: undefined, partialRows: undefined, splits: 1, scores, mode }),
    reads: readsOf(whole),
    writes: [scores],
    detail: mode,
  });
}

function readsOf({ q, k, v, bias, keep, keyCounts }: AttentionRequest): View[] {
  return [q, k, v, bias, keep, keyCounts].filter((view) => view !== undefined);
}

/** Rows start at multiples of 16 bytes, as the copies need. */
function copyable(emitter: Emitter, view: View): View {
  const isContiguous = view.strides[3] === 1 || view.shape[3] === 1;
  return isContiguous && alignmentOf(view, 3) === 16 ? view : withCopy(emitter, view);
}

function withCopy(emitter: Emitter, view: View): View {
  const to = paddedLike(emitter, view, view.type);
  emitter.copy(view, to);
  return to;
}

/** Memory of the view's shape whose rows are multiples of 8 elements long. */
function paddedLike(emitter: Emitter, view: View, type: View["type"]): View {
  const dim = view.shape[3] ?? 1;
  const whole = emitter.temporary(type, view.shape.with(3, 8 * Math.ceil(dim / 8)));
  return sliced(whole, 3, 0, dim);
}

/** Stored in pairs: 4-byte aligned rows, and an even number of elements in each. */
function storable(o: View, type: View["type"]): boolean {
  const isContiguous = o.strides[3] === 1 || o.shape[3] === 1;
  return o.type === type && isContiguous && (o.shape[3] ?? 1) % 2 === 0 && alignmentOf(o, 3) >= 4;
}

function biasFor(emitter: Emitter, { bias, q }: AttentionRequest): View | undefined {
  if (bias === undefined || bias.type === "float32" || bias.type === q.type) return bias;
  return emitter.packed(bias, { type: "float32" });
}
