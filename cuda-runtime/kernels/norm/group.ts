/** @file Launches of GroupNorm, which InstanceNorm is as well, with as many groups as channels. */

import { bytesMoved, passMicroseconds } from "../../cost/predict.ts";
import type { Emitter } from "../../ir/emitter.ts";
import { writeParams } from "../../ir/param-table.ts";
import type { PlanTarget } from "../../ir/step.ts";
import { bytesOfType, isFloatStorage, storageTypes } from "../../ir/storage.ts";
import type { View } from "../../ir/view.ts";
import { groupNormStruct } from "./params.table.ts";
import { typeNames } from "./rows.ts";
import type { SlabChoice } from "./slab-choices.ts";
import { emitSlabs, hasAlignedRuns, hasSlabs, sampleStride } from "./slabs.ts";

export interface GroupNormRequest {
  /** [samples, channels, positions] of a float type; channels or positions contiguous. */
  readonly x: View;
  /** The same; what is contiguous in x is here too. */
  readonly y: View;
  readonly groups: number;
  /** [samples, channels] of x's type, added to x before; only where x is cut into slabs (`takesAddend`). */
  readonly addend?: View | undefined;
  /** Float32, packed: one element a channel, or one a group. */
  readonly scale: View | undefined;
  readonly bias: View | undefined;
  readonly isParameterPerGroup: boolean;
  readonly epsilon: number;
  /** y · sigmoid(y) is stored. */
  readonly isSilu: boolean;
}

/** Elements of one access. */
type GroupWidth = 8 | 2 | 1;

interface GroupLayout {
  readonly channelsInner: boolean;
  /** The axis of x and y whose elements are not contiguous. */
  readonly outerAxis: 1 | 2;
  readonly width: GroupWidth;
}

const wholeThreads = 512;
const chunkThreads = 256;

/** Whether channels or positions are contiguous in a [samples, channels, positions]; undefined for neither. */
export function innerOf(view: View): "channels" | "positions" | undefined {
  const [, channels = 1, positions = 1] = view.shape;
  if (positions === 1 ? view.strides[1] !== 1 : view.strides[2] === 1) return "positions";
  return view.strides[1] === 1 || channels === 1 ? "channels" : undefined;
}

function isInSlabs(x: View, y: View): boolean {
  return innerOf(x) === "channels" && [x, y].every(hasAlignedRuns);
}

/** Whether an addend of each channel may go with x. */
export function takesAddend(
  { x, y, groups }: Pick<GroupNormRequest, "x" | "y" | "groups">,
  target: PlanTarget,
): boolean {
  return isFloatStorage(x.type) && isInSlabs(x, y) && hasSlabs({ x, y, groups }, x.type, target);
}

/** `accepts`: which ways of the slabs may be taken, for those who time them; all unless given. */
export function emitGroupNorm(
  emitter: Emitter,
  request: GroupNormRequest,
  accepts?: (choice: SlabChoice) => boolean,
): void {
  const { x, y, groups } = request;
  const [samples = 0, channels = 0, positions = 0] = x.shape;
  if (samples * channels * positions === 0) return;
  if (!isFloatStorage(x.type)) throw new TypeError(`tc-lint bug: groups of ${x.type} are not normalized`);
  if (isInSlabs(x, y) && emitSlabs(emitter, request, x.type, accepts)) return;
  if (request.addend !== undefined) throw new Error("tc-lint bug: only slabs take an addend");
  const layout = layoutOf(request, channels / groups);
  const elements = (channels / groups) * positions;
  const ofThread = layout.width === 8 ? 32 : 16;
  const kernel = `groupnorm_${typeNames[x.type]}_w${layout.width}`;
  const detail = `${samples}x${groups} groups of ${elements}`;
  const given = [x, request.scale, request.bias].filter((view) => view !== undefined);
  if (isWhole(samples * groups, elements, ofThread, emitter.target)) {
    const threads = 32 * Math.ceil(elements / ofThread / 32);
    emitter.launch({
      kernel: { kind: "built", family: "norm", entry: `${kernel}_whole` },
      grid: [samples * groups, 1, 1],
      block: [threads, 1, 1],
      sharedBytes: 0,
      params: pack(request, layout, undefined, elements),
      reads: given,
      writes: [y],
      predictedMicroseconds: priceOf("whole", [x, y], ofThread / layout.width, emitter.target),
      detail,
    });
    return;
  }
  const chunk = chunkThreads * ofThread;
  const chunks = Math.ceil(elements / chunk);
  const partial = emitter.temporary("float32", [samples * groups, chunks, 2]);
  const common = {
    grid: [samples * groups, chunks, 1],
    block: [chunkThreads, 1, 1],
    sharedBytes: 0,
    params: pack(request, layout, partial, chunk),
    detail,
  } as const;
  emitter.launch({
    ...common,
    kernel: { kind: "built", family: "norm", entry: `${kernel}_statistics` },
    reads: [x],
    writes: [partial],
    predictedMicroseconds: priceOf("statistics", [x], ofThread / layout.width, emitter.target),
  });
  emitter.launch({
    ...common,
    kernel: { kind: "built", family: "norm", entry: `${kernel}_apply` },
    reads: [...given, partial],
    writes: [y],
    predictedMicroseconds: priceOf("apply", [x, y], ofThread / layout.width, emitter.target),
  });
}

/** What a thread waits for: two joinings of the block, and each of its loads; passes over memory (bench/measurements/h200-runtime-steps.jsonl). */
const prices = {
  whole: { joins: 12, ofLoad: 1.4, passes: 1 },
  statistics: { joins: 4.5, ofLoad: 0.95, passes: 2 },
  apply: { joins: 8, ofLoad: 1.5, passes: 3 },
} as const;

function priceOf(
  kernel: keyof typeof prices,
  views: readonly View[],
  loads: number,
  target: PlanTarget,
): number {
  const { joins, ofLoad, passes } = prices[kernel];
  return passMicroseconds({ bytes: bytesMoved(views), passes, rounds: joins + ofLoad * loads }, target);
}

/** One block for a group where that is enough blocks, or little work: then nothing is read twice. */
function isWhole(
  blocks: number,
  elements: number,
  ofThread: number,
  { multiprocessors }: PlanTarget,
): boolean {
  if (elements > wholeThreads * ofThread) return false;
  return 2 * blocks >= multiprocessors || elements <= chunkThreads * ofThread;
}

function layoutOf({ x, y }: GroupNormRequest, channels: number): GroupLayout {
  const channelsInner = innerOf(x) === "channels" && innerOf(y) === "channels";
  if (!channelsInner && (innerOf(x) !== "positions" || innerOf(y) !== "positions")) {
    throw new Error("tc-lint bug: neither channels nor positions are contiguous");
  }
  const outerAxis = channelsInner ? 2 : 1;
  const inner = channelsInner ? channels : (x.shape[2] ?? 1);
  const fits = (width: GroupWidth) =>
    inner % width === 0 && [x, y].every((view) => isAligned(view, width, channels, outerAxis));
  const width = ([8, 2] as const).find(fits) ?? 1;
  return { channelsInner, outerAxis, width };
}

/** Whether every run of `width` elements starts at a multiple of its bytes, at most 16. */
function isAligned(view: View, width: GroupWidth, channels: number, outerAxis: 1 | 2): boolean {
  const bytes = bytesOfType(view.type);
  const alignment = Math.min(16, width * bytes);
  const [, channel = 0] = view.strides;
  const steps = [view.offset, sampleStride(view), channel * channels, view.strides[outerAxis] ?? 0];
  return steps.every((step) => (step * bytes) % alignment === 0);
}

function pack(request: GroupNormRequest, layout: GroupLayout, partial: View | undefined, chunk: number) {
  const { x, y, groups, scale, bias, isParameterPerGroup, isSilu, epsilon } = request;
  const [, allChannels = 1, positions = 1] = x.shape;
  const channels = allChannels / groups;
  const outer = (view: View) => view.strides[layout.outerAxis] ?? 0;
  const group = (view: View) => channels * (view.strides[1] ?? 0);
  return writeParams(groupNormStruct, {
    x,
    scale,
    bias,
    y,
    partial,
    groups,
    channels,
    positions,
    channelsInner: layout.channelsInner,
    xSample: x.strides[0] ?? 0,
    xOuter: outer(x),
    ySample: y.strides[0] ?? 0,
    yOuter: outer(y),
    xGroup: group(x),
    yGroup: group(y),
    chunk,
    chunks: Math.ceil((channels * positions) / chunk),
    parameterPerGroup: isParameterPerGroup,
    yType: storageTypes[y.type].code,
    epsilon,
    silu: isSilu,
  });
}
