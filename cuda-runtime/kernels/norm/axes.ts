/** @file Launches of normalizations over any axes, and over neighbouring channels (LRN). */
import { collapseAxes } from "../../ir/collapse.ts";
import type { Emitter } from "../../ir/emitter.ts";
import { writeParams } from "../../ir/param-table.ts";
import { maxRank } from "../../ir/params.ts";
import { storageTypes } from "../../ir/storage.ts";
import { elementCount, type View } from "../../ir/view.ts";
import { axesNormStruct, lrnStruct } from "./params.table.ts";

/** Codes are `AxesNormMode`. */
const modes = { meanVariance: 0, l1: 1, l2: 2 } as const;

export interface AxesNormRequest {
  readonly x: View;
  /** Of the same shape. */
  readonly y: View;
  /** What is normalized together. */
  readonly axes: ReadonlySet<number>;
  readonly mode: keyof typeof modes;
}

export function emitAxesNorm(emitter: Emitter, { x, y, axes, mode }: AxesNormRequest): void {
  if (elementCount(x.shape) === 0) return;
  const kept = axesOf(x, y, (axis) => !axes.has(axis));
  const reduced = axesOf(x, y, (axis) => axes.has(axis));
  emitter.launch({
    kernel: { kind: "built", family: "norm", entry: "axesnorm" },
    grid: [elementCount(kept.sizes), 1, 1],
    block: [256, 1, 1],
    sharedBytes: 0,
    params: writeParams(axesNormStruct, {
      x,
      y,
      mode: modes[mode],
      xType: storageTypes[x.type].code,
      yType: storageTypes[y.type].code,
      reduced: elementCount(reduced.sizes),
      keptSize: kept.sizes,
      keptX: kept.x,
      keptY: kept.y,
      reducedSize: reduced.sizes,
      reducedX: reduced.x,
      reducedY: reduced.y,
    }),
    reads: [x],
    writes: [y],
    detail: `${elementCount(kept.sizes)}x${elementCount(reduced.sizes)}`,
  });
}

/** Eight axes, the outer ones of size 1: as the kernels take them. */
export interface EightAxes {
  readonly sizes: readonly number[];
  readonly x: readonly number[];
  readonly y: readonly number[];
}

export function axesOf(x: View, y: View, isWanted: (axis: number) => boolean): EightAxes {
  const wanted = x.shape.flatMap((_, axis) => (isWanted(axis) ? [axis] : []));
  const pick = (list: readonly number[]) => wanted.map((axis) => list[axis] ?? 0);
  const { sizes, strides } = collapseAxes(pick(x.shape), [pick(x.strides), pick(y.strides)]);
  const padded = (list: readonly number[], fill: number) => [
    ...new Array<number>(maxRank - list.length).fill(fill),
    ...list,
  ];
  return { sizes: padded(sizes, 1), x: padded(strides[0] ?? [], 0), y: padded(strides[1] ?? [], 0) };
}

export interface LrnRequest {
  /** [samples, channels, positions] of a float type. */
  readonly x: View;
  readonly y: View;
  /** Channels of the window. */
  readonly size: number;
  readonly alpha: number;
  readonly beta: number;
  readonly bias: number;
}

export function emitLrn(emitter: Emitter, { x, y, size, alpha, beta, bias }: LrnRequest): void {
  const [, channels = 0, positions = 0] = x.shape;
  const total = elementCount(x.shape);
  if (total === 0) return;
  // There is nothing beyond the channels, however wide the window.
  const within = (side: number) => Math.min(side, channels);
  emitter.launch({
    kernel: { kind: "built", family: "norm", entry: "lrn" },
    grid: [Math.ceil(total / 256), 1, 1],
    block: [256, 1, 1],
    sharedBytes: 0,
    params: writeParams(lrnStruct, {
      x,
      y,
      total,
      channels,
      positions,
      xSample: x.strides[0] ?? 0,
      xChannel: x.strides[1] ?? 0,
      xPosition: x.strides[2] ?? 0,
      ySample: y.strides[0] ?? 0,
      yChannel: y.strides[1] ?? 0,
      yPosition: y.strides[2] ?? 0,
      channelsInner: x.strides[1] === 1,
      before: within(Math.floor((size - 1) / 2)),
      after: within(Math.ceil((size - 1) / 2)),
      xType: storageTypes[x.type].code,
      yType: storageTypes[y.type].code,
      alphaBySize: alpha / size,
      beta,
      bias,
    }),
    reads: [x],
    writes: [y],
    detail: `window ${size}`,
  });
}
