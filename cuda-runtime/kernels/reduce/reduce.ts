/** @file Launches of reductions: which walk over the elements, and how many threads share one result. */

import { bytesMoved, passMicroseconds } from "../../cost/predict.ts";
import type { Emitter } from "../../ir/emitter.ts";
import { writeParams } from "../../ir/param-table.ts";
import { bytesOfType, isFloatStorage, type StorageType, storageTypes } from "../../ir/storage.ts";
import { alignmentOf } from "../../ir/view.ts";
import {
  type Axis,
  byStride,
  checkRank,
  mergedAxes,
  powerOfTwoBelow,
  productOf,
  sizesOf,
  stridesAt,
} from "./axes.ts";
import { reduceStruct } from "./params.table.ts";
import {
  combineCodes,
  postCodes,
  preCodes,
  type ReduceRequest,
  type ReduceShape,
  type Reduction,
} from "./reduction.ts";
import { slabLaunch, slabsOf } from "./slabs.ts";

const threads = 256;
/** Elements of a result below which another block does not pay. */
const leastChunk = 4096;
/** Elements that a thread reads one after another, where few threads share a result: below these another block does not pay. */
const leastRounds = 8;
/** The grid's second axis. */
const mostChunks = 1024;

export type { ReduceRequest, ReduceShape, Reduction } from "./reduction.ts";

export type Walk = "any" | "rows" | "columns";

export interface ReduceVariant {
  readonly walk: Walk;
  readonly lanes: number;
  /** Neighbouring threads have neighbouring results, not the same one. */
  readonly isSideBySide: boolean;
  readonly chunk: number;
  readonly chunks: number;
}

/** Emits nothing for an output without elements; an input without reduced elements is for the caller. */
export function emitReduce(emitter: Emitter, request: ReduceRequest): void {
  const shape = shapeOf(request);
  if (productOf(shape.kept) === 0) return;
  if (launchSlabs(emitter, request, shape)) return;
  const variant = variantOf(request, shape, emitter.target.multiprocessors);
  if (variant.chunks === 1) return launch(emitter, request, shape, variant);
  const partial = emitter.temporary(partialType(request), [productOf(shape.kept), variant.chunks]);
  const keptStrides = packedStrides(shape.kept, variant.chunks);
  const first = shape.kept.map(({ size, strides }, axis) => ({
    size,
    strides: [strides[0] ?? 0, keptStrides[axis] ?? 0],
  }));
  const firstRequest: ReduceRequest = { ...request, post: "none", divisor: 1, output: partial };
  launch(emitter, firstRequest, { kept: first, reduced: shape.reduced }, variant);
  const rest: ReduceShape = {
    kept: shape.kept.map(({ size, strides }, axis) => ({
      size,
      strides: [keptStrides[axis] ?? 0, strides[1] ?? 0],
    })),
    reduced: [{ size: variant.chunks, strides: [1] }],
  };
  const restRequest: ReduceRequest = { ...request, input: partial, pre: "none" };
  launch(emitter, restRequest, rest, {
    walk: "any",
    lanes: powerOfTwoBelow(Math.min(variant.chunks, threads)),
    isSideBySide: false,
    chunk: variant.chunks,
    chunks: 1,
  });
}

/** In one launch, where channels lie next to each other and what is reduced is one axis; false where they do not. */
export function emitSlabs(emitter: Emitter, request: ReduceRequest): boolean {
  return launchSlabs(emitter, request, shapeOf(request));
}

function launchSlabs(emitter: Emitter, request: ReduceRequest, shape: ReduceShape): boolean {
  const { target } = emitter;
  if (walkOf(request, shape.kept, shape.reduced) !== "columns") return false;
  const slabs = slabsOf(request, shape, target);
  if (slabs !== undefined) emitter.launch(slabLaunch(asMaximum(request), slabs));
  return slabs !== undefined;
}

export function shapeOf({ input, axes, output }: ReduceRequest): ReduceShape {
  const all = input.shape.map((size, axis) => ({
    size,
    strides: [input.strides[axis] ?? 0, output.strides[axis] ?? 0],
    isReduced: axes.has(axis),
  }));
  const kept = mergedAxes(byStride(all.filter(({ isReduced }) => !isReduced)));
  const inner = all.filter(({ isReduced }) => isReduced);
  const reduced = mergedAxes(
    byStride(inner.map(({ size, strides }) => ({ size, strides: strides.slice(0, 1) }))),
  );
  checkRank(kept);
  checkRank(reduced);
  return { kept, reduced };
}

export function variantOf(
  request: ReduceRequest,
  { kept, reduced }: ReduceShape,
  multiprocessors: number,
): ReduceVariant {
  const walk = walkOf(request, kept, reduced);
  const outer = productOf(kept);
  const inner = productOf(reduced);
  const perVector = walk === "any" ? 1 : 16 / bytesOfType(request.input.type);
  const isSideBySide = walk === "any" && isColumnWise(kept, reduced);
  const lanes = lanesOf(walk, isSideBySide, kept, reduced, perVector);
  // As many blocks as fill the GPU, each with enough to do.
  const blocks = gridOf(walk, kept, lanes, perVector);
  const wanted = Math.ceil((4 * multiprocessors) / blocks);
  const share = isSideBySide
    ? lanes * leastRounds
    : walk === "columns"
      ? Math.max(32, leastChunk / (lanes * perVector))
      : leastChunk;
  const most = Math.min(mostChunks, Math.floor(inner / share));
  if (blocks >= 2 * multiprocessors || most < 2 || outer === 0)
    return { walk, lanes, isSideBySide, chunk: inner, chunks: 1 };
  // Chunks of whole vectors keep the addresses of all of them aligned alike.
  const chunk = Math.ceil(inner / Math.min(wanted, most) / 64) * 64;
  return { walk, lanes, isSideBySide, chunk, chunks: Math.ceil(inner / chunk) };
}

function walkOf(request: ReduceRequest, kept: readonly Axis[], reduced: readonly Axis[]): Walk {
  const { input, combine, output } = request;
  if (!isFloatStorage(input.type) || !isFloatStorage(output.type)) return "any";
  if ((combine !== "sum" && combine !== "max" && combine !== "min") || reduced.length !== 1) return "any";
  const [only] = reduced;
  const last = kept.at(-1);
  if (only === undefined) return "any";
  if (only.strides[0] === 1 && only.size >= 32) return "rows";
  const perVector = 16 / bytesOfType(input.type);
  const isWhole = (stride: number | undefined) => (stride ?? 1) % perVector === 0;
  const isAligned = alignmentOf({ ...input, strides: [], shape: [] }) === 16;
  const others = [...kept.slice(0, -1), only];
  const fits =
    last?.strides[0] === 1 && isWhole(last.size) && others.every(({ strides }) => isWhole(strides[0]));
  return fits && isAligned ? "columns" : "any";
}

/** Whether neighbouring results are neighbours in memory: a warp reads them together. */
function isColumnWise(kept: readonly Axis[], reduced: readonly Axis[]): boolean {
  const [keptStride, reducedStride] = [kept.at(-1)?.strides[0] ?? 0, reduced.at(-1)?.strides[0] ?? 0];
  return kept.length > 0 && productOf(kept) >= 32 && Math.abs(keptStride) < Math.abs(reducedStride);
}

function lanesOf(
  walk: Walk,
  isSideBySide: boolean,
  kept: readonly Axis[],
  reduced: readonly Axis[],
  perVector: number,
): number {
  const inner = productOf(reduced);
  const outer = productOf(kept);
  const last = kept.at(-1);
  if (walk === "columns") return Math.min(32, ceilPowerOfTwo((last?.size ?? 1) / perVector));
  if (walk === "rows") return inner >= 8192 || (outer < 512 && inner >= 1024) ? threads : 32;
  if (isSideBySide) return Math.min(threads / 32, powerOfTwoBelow(inner));
  return powerOfTwoBelow(Math.min(inner, outer >= 65_536 ? 32 : threads));
}

function ceilPowerOfTwo(value: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, value)));
}

function gridOf(walk: Walk, kept: readonly Axis[], lanes: number, perVector: number): number {
  const outer = productOf(kept);
  if (walk !== "columns") return Math.ceil(outer / (threads / lanes));
  const columns = kept.at(-1)?.size ?? 1;
  return Math.ceil(columns / (lanes * perVector)) * (outer / columns);
}

function launch(emitter: Emitter, request: ReduceRequest, shape: ReduceShape, variant: ReduceVariant): void {
  const { input, output } = request;
  const { walk, lanes, chunks } = variant;
  const perVector = walk === "any" ? 1 : 16 / bytesOfType(input.type);
  emitter.launch({
    kernel: { kind: "built", family: "reduce", entry: entryOf(request, walk) },
    grid: [gridOf(walk, shape.kept, lanes, perVector), chunks, 1],
    block: [threads, 1, 1],
    sharedBytes: 0,
    params: paramsOf(request, shape, variant),
    reads: [input],
    writes: [output],
    predictedMicroseconds: passMicroseconds(
      { bytes: bytesMoved([input, output]), rounds: roundsOf(variant) },
      emitter.target,
    ),
    detail: `${walk} ${productOf(shape.kept)}x${productOf(shape.reduced)} lanes ${lanes} chunks ${chunks}`,
  });
}

/** Of rows of columns, a block joins what its threads have in shared memory, bank after bank. */
const columnRounds = 13;
const unrolled = 4;

/** What a thread waits for in turn: its share of the elements, and the joining of all shares. */
function roundsOf({ walk, lanes, chunk }: ReduceVariant): number {
  if (walk === "any") return 1 + Math.ceil(chunk / lanes);
  if (walk === "rows") return 2 + Math.ceil(chunk / lanes / 8);
  const rows = threads / lanes;
  const whole = Math.floor(chunk / (unrolled * rows));
  return columnRounds + whole + Math.ceil((chunk - whole * unrolled * rows) / rows);
}

function paramsOf(request: ReduceRequest, { kept, reduced }: ReduceShape, variant: ReduceVariant) {
  const { input, output, divisor } = request;
  const { pre, combine, post } = variant.walk === "any" ? request : asMaximum(request);
  return writeParams(reduceStruct, {
    x: input,
    y: output,
    outerRank: kept.length,
    innerRank: reduced.length,
    outerSizes: sizesOf(kept),
    outerStridesX: stridesAt(kept, 0),
    outerStridesY: stridesAt(kept, 1),
    innerSizes: sizesOf(reduced),
    innerStrides: stridesAt(reduced, 0),
    outer: productOf(kept),
    inner: productOf(reduced),
    chunk: variant.chunk,
    // Partial results of one kept element lie side by side.
    chunkStrideY: variant.chunks > 1 ? 1 : 0,
    lanes: variant.lanes,
    isSideBySide: variant.isSideBySide,
    combine: combineCodes[combine],
    pre: preCodes[pre],
    post: postCodes[post],
    divisor,
    xType: storageTypes[input.type].code,
    yType: storageTypes[output.type].code,
  });
}

/** The fast walks know sums and maxima: a minimum is the maximum of the opposites. */
function asMaximum<Given extends Reduction>(reduction: Given): Given {
  if (reduction.combine !== "min") return reduction;
  return { ...reduction, pre: "negate", combine: "max", post: "negate" };
}

function entryOf(request: ReduceRequest, walk: Walk): string {
  const { input, combine } = request;
  if (walk !== "any") return `reduce_${walk}_${combine === "sum" ? "sum" : "max"}_${input.type}`;
  return `reduce_any_${accumulatorOf(input.type, request.integersAs)}`;
}

/** The register type, as entries are named. */
export function accumulatorOf(
  type: StorageType,
  integersAs: "integer" | "float64",
): "f32" | "f64" | "i64" | "u64" {
  if (isFloatStorage(type)) return "f32";
  if (type === "float64" || integersAs === "float64") return "f64";
  return storageTypes[type].kind === "int" ? "i64" : "u64";
}

const partialTypes = { f32: "float32", f64: "float64", i64: "int64", u64: "uint64" } as const;

function partialType({ input, integersAs }: ReduceRequest): StorageType {
  return partialTypes[accumulatorOf(input.type, integersAs)];
}

/** Strides of the kept axes in a packed array with `inner` elements to each. */
function packedStrides(kept: readonly Axis[], inner: number): number[] {
  const strides = new Array<number>(kept.length).fill(0);
  let stride = inner;
  for (let axis = kept.length - 1; axis >= 0; axis--) {
    strides[axis] = stride;
    stride *= kept[axis]?.size ?? 1;
  }
  return strides;
}
