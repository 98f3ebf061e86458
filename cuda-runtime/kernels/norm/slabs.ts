/** @file Launches of GroupNorm where channels are innermost: by slabs of channels, in runs of eight. */

import type { Candidate } from "../../cost/candidate.ts";
import { bytesMoved } from "../../cost/predict.ts";
import type { Emitter } from "../../ir/emitter.ts";
import { writeParams } from "../../ir/param-table.ts";
import { questionKey } from "../../ir/question.ts";
import type { PlanTarget } from "../../ir/step.ts";
import { bytesOfType, type FloatStorage, storageTypes } from "../../ir/storage.ts";
import type { View } from "../../ir/view.ts";
import { divisorFields } from "../conv/spatial.ts";
import type { GroupNormRequest } from "./group.ts";
import { groupSlabStruct } from "./params.table.ts";
import { typeNames } from "./rows.ts";
import {
  isTogether,
  type SlabChoice,
  type SlabExtent,
  sidesOf,
  slabCandidates,
  slabLaunchMicroseconds,
} from "./slab-choices.ts";

const runChannels = 8;

/** Whether every run of eight channels starts at a multiple of 16 bytes. */
export function hasAlignedRuns({ type, offset, shape, strides }: View): boolean {
  const [, channel = 0, position = 0] = strides;
  return (
    channel === 1 &&
    [offset, sampleStride({ shape, strides }), position].every(
      (step) => (step * bytesOfType(type)) % 16 === 0,
    )
  );
}

/** A single sample may have any stride. */
export function sampleStride({ shape, strides }: Pick<View, "shape" | "strides">): number {
  return shape[0] === 1 ? 0 : (strides[0] ?? 0);
}

type Grouped = Pick<GroupNormRequest, "x" | "y" | "groups">;

function extentOf({ x, y, groups }: Grouped, type: FloatStorage): SlabExtent {
  const [samples = 1, channels = 1, positions = 1] = x.shape;
  return { samples, channels, positions, groups, type, bytes: bytesMoved([x, y]) };
}

/** Whether groups can be cut into slabs. */
export function hasSlabs(grouped: Grouped, type: FloatStorage, target: PlanTarget): boolean {
  return slabCandidates(extentOf(grouped, type), target).length > 0;
}

/** False where groups cannot be cut into slabs, or none is accepted: nothing is emitted then. */
export function emitSlabs(
  emitter: Emitter,
  request: GroupNormRequest,
  type: FloatStorage,
  accepts: (choice: SlabChoice) => boolean = () => true,
): boolean {
  const extent = extentOf(request, type);
  return emitter.choose({
    key: () => questionKey("groupslab", request),
    candidates: () =>
      slabCandidates(extent, emitter.target)
        .filter(({ launch }) => accepts(launch))
        .map((launch) => ({ launch, microseconds: launch.microseconds })),
    variantOf: ({ launch: { way, slabChannels, threads } }) => `${way} ${slabChannels} ${threads}`,
    nameOf: ({ launch }) => detailOf(request, launch),
    emit: (to, candidate) => launchSlabs(to, request, type, candidate),
  });
}

function detailOf({ x, groups }: GroupNormRequest, choice: SlabChoice): string {
  const [samples = 1, channels = 1, positions = 1] = x.shape;
  return `${samples}x${groups} groups of ${channels / groups}x${positions}, ${slabText(choice)}`;
}

/** The cut alone, as the printed plan has it. */
export function slabText({ way, slabChannels, threads, chunk, chunks }: SlabChoice): string {
  const blocks = isTogether(way) ? `, ${way}s of ${chunks} by ${threads} threads` : "";
  return `${slabChannels} channels by ${chunk}${blocks}`;
}

function launchSlabs(
  emitter: Emitter,
  request: GroupNormRequest,
  type: FloatStorage,
  { launch: choice, microseconds }: Candidate<SlabChoice>,
): void {
  const { x, y, groups, addend } = request;
  const [samples = 1, channels = 1] = x.shape;
  const { way, slabChannels, threads, chunks, sharedBytes } = choice;
  const partial =
    way === "twice" || way === "grid"
      ? emitter.temporary("float32", [samples * groups, chunks, 2])
      : undefined;
  const common = {
    grid: [chunks, channels / slabChannels, samples],
    block: [threads, 1, 1],
    sharedBytes,
    params: pack(request, choice, partial),
    detail: detailOf(request, choice),
  } as const;
  const entry = (name: string) =>
    ({ kind: "built", family: "norm", entry: `groupslab_${typeNames[type]}_${name}` }) as const;
  const sides = `s${sidesOf(channels / groups)}`;
  const given = [x, addend, request.scale, request.bias].filter((view) => view !== undefined);
  if (way !== "twice" || partial === undefined) {
    emitter.launch({
      ...common,
      ...(way === "cluster" ? { cluster: [chunks, 1, 1] } : {}),
      ...(way === "grid" ? { isAtOnce: true } : {}),
      kernel: entry(`${sides}_${way}`),
      reads: given,
      writes: partial === undefined ? [y] : [y, partial],
      predictedMicroseconds: microseconds,
    });
    return;
  }
  const extent = { samples, channels, groups, type };
  const moved = bytesMoved([x, partial]);
  const statistics = slabLaunchMicroseconds("statistics", moved, choice, extent, emitter.target);
  emitter.launch({
    ...common,
    kernel: entry(`${sides}_statistics`),
    reads: addend === undefined ? [x] : [x, addend],
    writes: [partial],
    predictedMicroseconds: statistics,
  });
  emitter.launch({
    ...common,
    kernel: entry("apply"),
    reads: [...given, partial],
    writes: [y],
    predictedMicroseconds: microseconds - statistics,
  });
}

function pack(request: GroupNormRequest, choice: SlabChoice, partial: View | undefined) {
  const { x, y, groups, addend, scale, bias, isParameterPerGroup, isSilu, epsilon } = request;
  const [, channels = 1, positions = 1] = x.shape;
  const { slabChannels, rows, chunk, chunks } = choice;
  const ofGroup = channels / groups;
  return writeParams(groupSlabStruct, {
    x,
    addend,
    addendSample: addend?.strides[0] ?? 0,
    addendChannel: addend?.strides[1] ?? 0,
    scale,
    bias,
    y,
    partial,
    columns: divisorFields(slabChannels / runChannels),
    rows: divisorFields(rows),
    channels: divisorFields(ofGroup),
    slab: slabChannels,
    slabGroups: slabChannels / ofGroup,
    positions,
    xSample: x.strides[0] ?? 0,
    xPosition: x.strides[2] ?? 0,
    ySample: y.strides[0] ?? 0,
    yPosition: y.strides[2] ?? 0,
    chunk,
    chunks,
    parameterPerGroup: isParameterPerGroup,
    yType: storageTypes[y.type].code,
    epsilon,
    silu: isSilu,
  });
}
