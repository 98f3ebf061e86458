/** @file Copies between views: a chain where both sides run along the same memory, else tiles through shared memory. */
import { bytesMoved, passMicroseconds } from "../../cost/predict.ts";
import { collapseAxes } from "../../ir/collapse.ts";
import type { Emitter } from "../../ir/emitter.ts";
import { load } from "../../ir/expr-build.ts";
import { writeParams } from "../../ir/param-table.ts";
import type { ParamBlock } from "../../ir/params.ts";
import type { PlanTarget } from "../../ir/step.ts";
import { bytesOfType, type StorageType } from "../../ir/storage.ts";
import { elementCount, type View } from "../../ir/view.ts";
import { chainMicroseconds, compileChain } from "../../ptx/compile.ts";
import { transposeStruct } from "./params.table.ts";

const transposeFamily = "transpose";

/** Elements along either side of a tile, and axes beside these two: as in transpose.cu. */
const tileSize = 64;
const batchAxes = 6;
const threads = [32, 8, 1] as const;

/** Conversions that the tiles do on the way; equal types are copied by width. */
const conversions: Readonly<Partial<Record<StorageType, Partial<Record<StorageType, string>>>>> = {
  float32: { float16: "transpose_f32_f16", bfloat16: "transpose_f32_bf16" },
  float16: { float32: "transpose_f16_f32" },
  bfloat16: { float32: "transpose_bf16_f32" },
};

function entryOf(from: StorageType, to: StorageType): string | undefined {
  return from === to ? `transpose_b${8 * bytesOfType(from)}` : conversions[from]?.[to];
}

/** Shorter axes leave most of a tile empty. */
const shortestAxis = 8;

export interface TilePlan {
  readonly sizeX: number;
  readonly sizeY: number;
  readonly fromStrideX: number;
  readonly fromStrideY: number;
  readonly toStrideX: number;
  readonly toStrideY: number;
  readonly batch: readonly {
    readonly size: number;
    readonly fromStride: number;
    readonly toStride: number;
  }[];
}

/** How the copy goes in tiles; undefined where both sides have the same innermost axis, or one is too short. */
export function tilePlan(from: View, to: View): TilePlan | undefined {
  const { sizes, strides } = collapseAxes(to.shape, [to.strides, from.strides]);
  const [toStrides = [], fromStrides = []] = strides;
  const axes = sizes.map((size, axis) => ({
    size,
    fromStride: fromStrides[axis] ?? 0,
    toStride: toStrides[axis] ?? 0,
  }));
  const y = axes.at(-1);
  const steps = axes.filter(({ fromStride }) => fromStride !== 0);
  const x = steps.reduce<(typeof axes)[number] | undefined>(
    (best, axis) =>
      best === undefined || Math.abs(axis.fromStride) < Math.abs(best.fromStride) ? axis : best,
    undefined,
  );
  if (x === undefined || y === undefined || x === y || y.fromStride === 0) return undefined;
  if (Math.min(x.size, y.size) < shortestAxis || axes.length - 2 > batchAxes) return undefined;
  return {
    sizeX: x.size,
    sizeY: y.size,
    fromStrideX: x.fromStride,
    fromStrideY: y.fromStride,
    toStrideX: x.toStride,
    toStrideY: y.toStride,
    batch: axes.filter((axis) => axis !== x && axis !== y),
  };
}

/** Whether elements of 2 bytes can go two by two: everything but the innermost strides is even. */
function movesPairs(plan: TilePlan, from: View, to: View): boolean {
  const steps = plan.batch.flatMap(({ fromStride, toStride }) => [fromStride, toStride]);
  const even = [plan.sizeX, plan.sizeY, plan.fromStrideY, plan.toStrideX, from.offset, to.offset, ...steps];
  return plan.fromStrideX === 1 && plan.toStrideY === 1 && even.every((value) => value % 2 === 0);
}

export function tileParams(plan: TilePlan, from: View, to: View): ParamBlock {
  const lead = Array.from({ length: batchAxes - plan.batch.length }, () => ({
    size: 1,
    fromStride: 0,
    toStride: 0,
  }));
  const batch = [...lead, ...plan.batch];
  return writeParams(transposeStruct, {
    from,
    to,
    sizeX: plan.sizeX,
    sizeY: plan.sizeY,
    fromStrideY: plan.fromStrideY,
    toStrideX: plan.toStrideX,
    tilesX: tilesOf(plan.sizeX),
    tilesY: tilesOf(plan.sizeY),
    fromStrideX: plan.fromStrideX,
    toStrideY: plan.toStrideY,
    batchSizes: batch.map(({ size }) => size),
    fromBatchStrides: batch.map(({ fromStride }) => fromStride),
    toBatchStrides: batch.map(({ toStride }) => toStride),
  });
}

function tilesOf(size: number): number {
  return Math.ceil(size / tileSize);
}

/**
 * Of a full tile's time, what one takes however little of it there is: 21 of 64 columns, half to float, 8352 tiles, took 60 µs on an H100, and 261 of
 * them 3.2 on an H200 (bench/measurements/h200-runtime-steps.jsonl).
 */
const emptyShare = 0.83;

function tileMicroseconds({ sizeX, sizeY }: TilePlan, from: View, to: View, target: PlanTarget): number {
  const filled = (sizeX * sizeY) / (tilesOf(sizeX) * tilesOf(sizeY) * tileSize ** 2);
  return passMicroseconds(
    { bytes: bytesMoved([from, to]), passes: Math.max(1, emptyShare / filled) },
    target,
  );
}

/** What `copyViews` would launch is predicted to take; 0 for no elements. The views' buffers need not exist, but differ. */
export function copyMicroseconds(from: View, to: View, target: PlanTarget): number {
  if (elementCount(to.shape) === 0) return 0;
  const plan = entryOf(from.type, to.type) === undefined ? undefined : tilePlan(from, to);
  if (plan !== undefined) return tileMicroseconds(plan, from, to, target);
  return chainMicroseconds({ shape: to.shape, outputs: [{ expr: load(from), to }] }, target);
}

/** Writes `from` into `to`, views of one shape; converts as ONNX's Cast does. */
export function copyViews(emitter: Emitter, from: View, to: View): void {
  if (elementCount(to.shape) === 0) return;
  const entry = entryOf(from.type, to.type);
  const plan = entry === undefined ? undefined : tilePlan(from, to);
  if (entry === undefined || plan === undefined) {
    const launch = compileChain({ shape: to.shape, outputs: [{ expr: load(from), to }] }, emitter.target);
    if (launch !== undefined) emitter.launch(launch);
    return;
  }
  const batch = plan.batch.reduce((product, { size }) => product * size, 1);
  const isInPairs = entry === "transpose_b16" && movesPairs(plan, from, to);
  emitter.launch({
    kernel: { kind: "built", family: transposeFamily, entry: isInPairs ? "transpose_b16_pairs" : entry },
    grid: [tilesOf(plan.sizeX) * tilesOf(plan.sizeY) * batch, 1, 1],
    block: threads,
    sharedBytes: 0,
    params: tileParams(plan, from, to),
    reads: [from],
    writes: [to],
    detail: `${plan.sizeX}×${plan.sizeY}, ${batch} times`,
    predictedMicroseconds: tileMicroseconds(plan, from, to, emitter.target),
  });
}
