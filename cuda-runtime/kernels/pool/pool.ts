/** @file Pools over windows and over whole images. */

import { bytesMoved, passMicroseconds } from "../../cost/predict.ts";
import type { Emitter } from "../../ir/emitter.ts";
import { writeParams } from "../../ir/param-table.ts";
import type { ParamBlock } from "../../ir/params.ts";
import {
  bytesOfType,
  type FloatStorage,
  isFloatStorage,
  isHalfStorage,
  type StorageType,
  storageTypes,
} from "../../ir/storage.ts";
import { elementCount, type View } from "../../ir/view.ts";
import {
  channelAlignment,
  divisorFields,
  isChannelsLast,
  type Spatial,
  spatialOf,
  type Triple,
  triple,
} from "../conv/spatial.ts";
import { emitSlabs, type ReduceRequest } from "../reduce/reduce.ts";
import { poolStruct } from "./params.table.ts";

/** `code` is `PoolKind` in window.cuh. */
const kinds = { max: { code: 0 }, average: { code: 1 }, lp: { code: 2 } } as const;
export type PoolKind = keyof typeof kinds;

/** x and `to` of one type, one to three spatial axes, any strides. */
export interface PoolRequest {
  readonly kind: PoolKind;
  /** [N, C, …spatial] */
  readonly x: View;
  /** [N, C, …positions] */
  readonly to: View;
  /** Of the maxima, counted through x as if it were packed; int64. */
  readonly indices?: View | undefined;
  /** Whether the last spatial axis but not the first counts slowest in `indices`. */
  readonly columnMajor?: boolean;
  /** One entry a spatial axis. */
  readonly kernel: readonly number[];
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
  readonly padsBegin: readonly number[];
  readonly padsEnd: readonly number[];
  /** Whether an average counts positions in the padding. */
  readonly countPads?: boolean;
  /** Of "lp". */
  readonly power?: number;
}

const names: Readonly<Record<FloatStorage, string>> = { float16: "f16", bfloat16: "bf16", float32: "f32" };
/** Of types that kernels take by vectors; of codes maxima alone. */
const vectorNames: Readonly<Partial<Record<StorageType, string>>> = { ...names, int8: "s8", uint8: "u8" };
const threads = 128;
const wholeThreads = 512;
/** What a thread waits for at each element of a window, and of an image that a block shares (bench/measurements/h200-runtime-steps.jsonl). */
const maxRounds = 0.9;
const averageRounds = 1.3;
const wholeRounds = 0.065;
/** Where all loads of a window are in flight at once (estimated). */
const squareRounds = 2;
/** Of an element of a window, which is converted and added. */
const averageInstructions = 3;
const joinRounds = 6;

export function emitPool(emitter: Emitter, request: PoolRequest): void {
  const { x, to, indices, kind } = request;
  if (elementCount(to.shape) === 0) return;
  const from = spatialOf(x);
  const y = spatialOf(to);
  const isOfVectors = indices === undefined && kind !== "lp" && (kind === "max" || isFloatStorage(x.type));
  const vector = isOfVectors ? (vectorOf(from, y) ?? pairOf(from, y) ?? 1) : 1;
  const square = vector > 1 && x.type !== "float32" ? squareOf(request, from, y) : undefined;
  const ends = `${square ?? ""}${vector === 2 ? "_pairs" : ""}`;
  const entry =
    vector > 1 ? `pool_${vectorNames[x.type]}_${kind === "max" ? "max" : "average"}${ends}` : "pool_any";
  const count = (y.channels / vector) * y.batch * y.size[0] * y.size[1] * y.size[2];
  emitter.launch({
    kernel: { kind: "built", family: "pool", entry },
    grid: [Math.ceil(count / threads), 1, 1],
    block: [threads, 1, 1],
    sharedBytes: 0,
    params: poolParams({ request, x: from, y, count, vector, output: y.size }),
    reads: [x],
    writes: indices === undefined ? [to] : [to, indices],
    predictedMicroseconds: passMicroseconds(
      {
        bytes: bytesMoved([x, to]),
        isLeftInL2: true,
        instructions:
          kind === "average" && vector > 1
            ? averageInstructions * count * vector * elementCount(request.kernel)
            : 0,
        rounds:
          square === undefined
            ? (kind === "max" ? maxRounds : averageRounds) * elementCount(request.kernel)
            : squareRounds,
      },
      emitter.target,
    ),
    detail: `${kind} of ${request.kernel.join("x")}, ${vector} channels a thread`,
  });
}

/**
 * Which kernel has a window's loads in flight at once, as its entry ends; undefined where none does: windows of another size, or one that may lie outside
 * the image as a whole.
 */
function squareOf(request: PoolRequest, x: Spatial, y: Spatial): string | undefined {
  const kernel = triple(request.kernel, 1);
  const [depth, height, width] = kernel;
  if (depth !== 1 || height !== width || (height !== 2 && height !== 3)) return undefined;
  if (request.dilations.some((dilation) => dilation !== 1)) return undefined;
  const strides = triple(request.strides, 1);
  const pads = triple(request.padsBegin, 0);
  const isInside = ([0, 1, 2] as const).every(
    (axis) => pads[axis] < kernel[axis] && (y.size[axis] - 1) * strides[axis] - pads[axis] < x.size[axis],
  );
  return isInside ? `_${height}x${width}` : undefined;
}

/** Channels that are read and written as one vector of 16 bytes; undefined where they cannot. */
function vectorOf(x: Spatial, y: Spatial): number | undefined {
  if (vectorNames[x.view.type] === undefined) return undefined;
  return lanesOf(16, x, y);
}

/** Two halves as one word; undefined where they are none. */
function pairOf(x: Spatial, y: Spatial): 2 | undefined {
  const isPair = isHalfStorage(x.view.type) && lanesOf(4, x, y) !== undefined;
  return isPair ? 2 : undefined;
}

/** Channels in so many bytes, where every run of channels is whole words of them. */
function lanesOf(bytes: number, x: Spatial, y: Spatial): number | undefined {
  const lanes = bytes / bytesOfType(x.view.type);
  const isAligned = [x, y].every(
    (each) => each.channelStride === 1 && channelAlignment(each) >= bytes && each.channels % lanes === 0,
  );
  return isAligned ? lanes : undefined;
}

export interface GlobalPoolRequest {
  readonly kind: PoolKind;
  /** [N, C, …spatial] */
  readonly x: View;
  /** [N, C, 1, …], of the same type. */
  readonly to: View;
  readonly power?: number;
}

/** Over all spatial axes. */
export function emitGlobalPool(emitter: Emitter, request: GlobalPoolRequest): void {
  const { kind, x, to, power } = request;
  if (elementCount(to.shape) === 0) return;
  const rank = x.shape.length - 2;
  const ones = new Array<number>(rank).fill(1);
  const zeros = new Array<number>(rank).fill(0);
  const window = {
    kernel: x.shape.slice(2),
    strides: ones,
    dilations: ones,
    padsBegin: zeros,
    padsEnd: zeros,
  };
  const pool: PoolRequest = { kind, x, to, ...window, ...(power !== undefined && { power }) };
  const from = spatialOf(x);
  const y = spatialOf(to);
  // A window of no elements is left to the other kernel, as is what has no kernel here.
  if (!isFloatStorage(x.type) || y.batch > 65_535 || elementCount(x.shape) === 0)
    return emitPool(emitter, pool);
  if (kind !== "lp" && emitSlabs(emitter, wholeOf(kind, x, to))) return;
  const vector = kind === "lp" ? 1 : (vectorOf(from, y) ?? 1);
  const groups = y.channels / vector;
  const across = isChannelsLast(from) ? Math.min(32, 2 ** Math.floor(Math.log2(groups))) : 1;
  const suffix = `whole_${kind}${vector > 1 ? "" : "_single"}`;
  emitter.launch({
    kernel: { kind: "built", family: "pool", entry: `pool_${names[x.type]}_${suffix}` },
    grid: [Math.ceil(groups / across), y.batch, 1],
    block: [across, wholeThreads / across, 1],
    sharedBytes: 0,
    // The kernel divides positions by the input's sizes.
    params: poolParams({ request: pool, x: from, y, count: 0, vector, output: from.size }),
    reads: [x],
    writes: [to],
    predictedMicroseconds: passMicroseconds(
      { bytes: bytesMoved([x, to]), rounds: joinRounds + wholeRounds * elementCount(from.size) },
      emitter.target,
    ),
    detail: `${kind} of whole images, ${vector} channels a thread`,
  });
}

/** The same as a reduction. */
function wholeOf(kind: "max" | "average", x: View, to: View): ReduceRequest {
  const axes = new Set(x.shape.keys());
  for (const kept of [0, 1]) axes.delete(kept);
  const isMax = kind === "max";
  return {
    ...{ pre: "none", combine: isMax ? "max" : "sum", post: "none", integersAs: "integer" },
    ...{ divisor: isMax ? 1 : elementCount(x.shape.slice(2)), input: x, axes, output: to },
  };
}

interface PoolFields {
  readonly request: PoolRequest;
  readonly x: Spatial;
  readonly y: Spatial;
  readonly count: number;
  readonly vector: number;
  readonly output: Triple;
}

function poolParams({ request, x, y, count, vector, output }: PoolFields): ParamBlock {
  const { kind, indices } = request;
  const i = indices && spatialOf(indices);
  return writeParams(poolStruct, {
    x: x.view,
    y: y.view,
    indices,
    threads: count,
    kind: kinds[kind].code,
    type: storageTypes[x.view.type].code,
    channels: x.channels,
    kernel: triple(request.kernel, 1),
    input: x.size,
    stride: triple(request.strides, 1),
    dilation: triple(request.dilations, 1),
    pad: triple(request.padsBegin, 0),
    padEnd: triple(request.padsEnd, 0),
    xBatch: x.batchStride,
    xAxes: x.strides,
    xChannel: x.channelStride,
    yBatch: y.batchStride,
    yAxes: y.strides,
    yChannel: y.channelStride,
    iBatch: i?.batchStride ?? 0,
    iAxes: i?.strides ?? [0, 0, 0],
    iChannel: i?.channelStride ?? 0,
    pieces: divisorFields(y.channels / vector),
    output: output.map(divisorFields),
    channelsLast: y.channelStride === 1,
    countPads: request.countPads === true,
    columnMajor: request.columnMajor === true,
    power: request.power ?? 0,
  });
}
