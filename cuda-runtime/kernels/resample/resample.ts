/** @file Launches of linear interpolation between rows at source times. */

import { passMicroseconds } from "../../cost/predict.ts";
import type { Emitter } from "../../ir/emitter.ts";
import { OperandError } from "../../ir/operand-error.ts";
import { type ValuesOf, writeParams } from "../../ir/param-table.ts";
import type { KernelRef, PlanTarget } from "../../ir/step.ts";
import { bytesOfType, type FloatStorage, isFloatStorage, storageTypes } from "../../ir/storage.ts";
import { alignmentOf, type View } from "../../ir/view.ts";
import { divisorFields } from "../conv/spatial.ts";
import { typeNames } from "../norm/rows.ts";
import { resampleStruct, type sourceIndexStruct } from "./params.table.ts";

/** Of so many source times that count: min(max(count + shift, least), most), from the end where negative. */
export type SourceIndex = ValuesOf<typeof sourceIndexStruct>;

const blends = {
  /** low + weight · (high − low) */
  oneProduct: 0,
  /** (1 − weight) · low + weight · high */
  twoProducts: 1,
  /** The first, and from a weight of a half on high − (high − low) · (1 − weight): torch.lerp. */
  nearerEnd: 2,
} as const;
export type Blend = keyof typeof blends;

const emptyKinds = { none: 0, noSpan: 1, notPositive: 2 } as const;

/** weight = (target − time of low) / (time of high − time of low), and what a model does beside. */
export interface WeightRule {
  /** Added to the divisor. */
  readonly spanAdd: number;
  /** The divisor is at least this. */
  readonly spanLeast: number;
  /** In the place of a divisor of zero. */
  readonly zeroSpan: number;
  /** The weight where no time, or no positive one, is between the rows. */
  readonly empty: { readonly kind: keyof typeof emptyKinds; readonly weight: number };
  readonly least: number;
  readonly most: number;
  /** Rounded to this type. */
  readonly type: FloatStorage;
}

export const plainWeight: WeightRule = {
  spanAdd: 0,
  spanLeast: -Infinity,
  zeroSpan: 0,
  empty: { kind: "none", weight: 0 },
  least: -Infinity,
  most: Infinity,
  type: "float32",
};

export interface ResampleRequest {
  /** [batch, source, features]; features contiguous. */
  readonly x: View;
  /** [batch, source] of any float; where they are not in order, all of them are counted. */
  readonly times: View;
  /** [batch, target] of any float. */
  readonly targets: View;
  /** [batch, target, features], of x's type; features contiguous. */
  readonly y: View;
  /** A source time counts where it is the target's. */
  readonly isInclusive: boolean;
  readonly low: SourceIndex;
  readonly high: SourceIndex;
  readonly weight: WeightRule;
  readonly blend: Blend;
}

export interface ResampleTuning {
  /** By the copy engine (Hopper): rows at multiples of 16 bytes. */
  readonly isBulk?: boolean;
  /** Twice the accesses of a thread at a time, and fewer blocks: rows at multiples of 16 bytes. */
  readonly isDeep?: boolean;
  /** A warp a target row, blocks of one batch: rows at multiples of 16 bytes. */
  readonly isByWarps?: boolean;
  /** Past the caches: rows at multiples of 16 bytes, that are asked for once, and not read soon. */
  readonly isStreamed?: boolean;
  /** Of a warp, that look for one target together: a power of two. */
  readonly lanes?: number;
  /** More than fit at once take turns. */
  readonly blocksPerMultiprocessor?: number;
}

const threads = 256;
const bulkBlocks = 3;
const bulkSharedBytes = 48 * 1024;
/** Of target rows that a block looks up at a time. */
const pieceRows = 128;
/** Source times that it searches in shared memory. */
const stagedTimes = 4096;

/** A block of few rows looks whether this many source times are in order while it searches them; pieces of a row that a warp moves. */
const mostTimesOfFewRows = 1024;
const mostPiecesOfWarp = 128;
const rowsOfBlock = threads / 32;

export function emitResample(emitter: Emitter, request: ResampleRequest, tuning?: ResampleTuning): void {
  const { x, y, times, targets } = request;
  const [batch = 0, target = 0, features = 0] = y.shape;
  const source = x.shape[1] ?? 0;
  if (batch * target * features === 0) return;
  const { type } = x;
  if (!isFloatStorage(type) || y.type !== type) throw new OperandError(`resampling of ${type} to ${y.type}`);
  if (source === 0) throw new OperandError("no source rows");
  const width = widthOf(request, type);
  const work = { batch, source, target, chunks: features / width, isWhole: width * bytesOfType(type) === 16 };
  const form = tuning ?? formFor(work, emitter.target);
  if (!work.isWhole && [form.isBulk, form.isDeep, form.isStreamed, form.isByWarps].includes(true))
    throw new OperandError("rows off multiples of 16 bytes");
  const cut = form.isByWarps ? cutToWarps(work) : cutToBlocks(work, form, emitter.target);
  const bytes = uniqueBytes(request, type);
  emitter.launch({
    kernel: kernelOf(type, width, form),
    grid: cut.grid,
    block: [threads, 1, 1],
    sharedBytes: form.isBulk ? bulkSharedBytes : 0,
    params: writeParams(resampleStruct, {
      ...operandFields(request),
      ...ruleFields(request),
      chunks: work.chunks,
      slice: divisorFields(cut.slice),
      ...{ lanes: cut.lanes, isStreamed: form.isStreamed === true },
    }),
    reads: [x, times, targets],
    writes: [y],
    movedBytes: bytes,
    predictedMicroseconds: passMicroseconds({ bytes, rounds: cut.rounds }, emitter.target),
    detail: `${batch}x${source}->${target}x${features}`,
  });
}

interface ResampleWork {
  readonly batch: number;
  readonly source: number;
  readonly target: number;
  /** Accesses of a row. */
  readonly chunks: number;
  /** Of 16 bytes each. */
  readonly isWhole: boolean;
}

/** Of a launch. */
interface Cut {
  readonly grid: readonly [number, number, number];
  /** Accesses of a row that a block moves. */
  readonly slice: number;
  readonly lanes: number;
  /** Loads one after the other. */
  readonly rounds: number;
}

/** A warp has a row where there are rows enough for all warps, few times to count, and no more of a row than a few accesses a lane. */
function formFor({ batch, source, target, chunks, isWhole }: ResampleWork, gpu: PlanTarget): ResampleTuning {
  const isMany = batch * target >= rowsOfBlock * gpu.multiprocessors;
  const isByWarps = isWhole && isMany && source <= mostTimesOfFewRows && chunks <= mostPiecesOfWarp;
  return { isByWarps };
}

function cutToWarps({ batch, source, target, chunks }: ResampleWork): Cut {
  // The target, votes on the times, those of the two rows, the rows.
  const rounds = 3 + lookupRounds(rowsOfBlock, source, 32);
  return { grid: [batch * Math.ceil(target / rowsOfBlock), 1, 1], slice: chunks, lanes: 32, rounds };
}

function cutToBlocks(work: ResampleWork, tuning: ResampleTuning, gpu: PlanTarget): Cut {
  const { batch, source, target, chunks } = work;
  const perMultiprocessor = tuning.blocksPerMultiprocessor ?? blocksFor(tuning);
  const { blocks, slices } = cutOf(batch * target, chunks, perMultiprocessor * gpu.multiprocessors);
  const rows = Math.min(pieceRows, target, Math.ceil((batch * target) / blocks));
  const lanes = tuning.lanes ?? lanesFor(rows, source);
  // The times, then the rows of features.
  const rounds = 2 + (source > stagedTimes ? lookupRounds(rows, source, lanes) : 0);
  return { grid: [blocks, tuning.isBulk ? 1 : slices, 1], slice: Math.ceil(chunks / slices), lanes, rounds };
}

/** As many as the registers of the kernel leave room for. */
function blocksFor({ isBulk, isDeep }: ResampleTuning): number {
  if (isBulk) return bulkBlocks;
  return isDeep ? 3 : 4;
}

/** Those with which a block looks up its rows soonest. */
function lanesFor(rows: number, source: number): number {
  const rounds = (lanes: number) => lookupRounds(rows, source, lanes);
  return [4, 8, 16, 32].reduce((best, lanes) => (rounds(lanes) < rounds(best) ? lanes : best), 2);
}

/** One after the other: all lanes ask one source time each, until those of every row know how many count. */
function lookupRounds(rows: number, source: number, lanes: number): number {
  let rounds = 0;
  for (let span = source; span > 0; span = Math.ceil(span / lanes) - 1) rounds++;
  return rounds * Math.ceil((rows * lanes) / threads);
}

function kernelOf(
  type: FloatStorage,
  width: number,
  { isBulk, isDeep, isByWarps }: ResampleTuning,
): KernelRef {
  const name = typeNames[type];
  if (isByWarps) return { kind: "built", family: "resample", entry: `resample_warps_${name}` };
  if (isBulk) return { kind: "built", family: "resample-bulk", entry: `resample_bulk_${name}` };
  return {
    ...{ kind: "built", family: "resample" },
    entry: isDeep ? `resample_deep_${name}` : `resample_${name}_w${width}`,
  };
}

/** Elements of an access. */
function widthOf({ x, y }: ResampleRequest, type: FloatStorage): number {
  const bytes = bytesOfType(type);
  const [features = 1] = x.shape.slice(-1);
  const isWhole = (width: number) =>
    features % width === 0 && [x, y].every((view) => alignmentOf(view, 2) >= width * bytes);
  const widest = 16 / bytes;
  return [widest, 2].find(isWhole) ?? 1;
}

/** Blocks that stay, each with at least one access a thread; few long rows are cut, so that all multiprocessors have some. */
function cutOf(rows: number, chunks: number, most: number): { blocks: number; slices: number } {
  const blocks = Math.max(1, Math.min(most, Math.ceil((rows * chunks) / threads), rows));
  const slices = Math.max(1, Math.min(Math.ceil(chunks / threads), Math.floor(most / rows)));
  return { blocks, slices };
}

/** Rows that nobody asks for are not read. */
function uniqueBytes({ x, y }: ResampleRequest, type: FloatStorage): number {
  const [batch = 0, source = 0, features = 0] = x.shape;
  const target = y.shape[1] ?? 0;
  const read = batch * (Math.min(source, 2 * target) * features * bytesOfType(type) + 4 * (source + target));
  return read + batch * target * features * bytesOfType(type);
}

function operandFields({ x, y, times, targets }: ResampleRequest) {
  const [batch = 0, target = 0] = y.shape;
  return {
    ...{ x, y, times, targets, batch, target },
    source: x.shape[1] ?? 0,
    strideXBatch: strideOf(x, 0),
    strideXRow: strideOf(x, 1),
    strideYBatch: strideOf(y, 0),
    strideYRow: strideOf(y, 1),
    strideTimesBatch: strideOf(times, 0),
    strideTimes: strideOf(times, 1),
    strideTargetsBatch: strideOf(targets, 0),
    strideTargets: strideOf(targets, 1),
    timesType: storageTypes[times.type].code,
    targetsType: storageTypes[targets.type].code,
  };
}

function strideOf({ strides, shape }: View, axis: number): number {
  return shape[axis] === 1 ? 0 : (strides[axis] ?? 0);
}

function ruleFields({ isInclusive, low, high, weight, blend }: ResampleRequest) {
  return {
    ...{ isInclusive, low, high },
    spanAdd: weight.spanAdd,
    spanLeast: weight.spanLeast,
    zeroSpan: weight.zeroSpan,
    emptyWeight: weight.empty.weight,
    emptyKind: emptyKinds[weight.empty.kind],
    weightLeast: weight.least,
    weightMost: weight.most,
    weightType: storageTypes[weight.type].code,
    blend: blends[blend],
  };
}
