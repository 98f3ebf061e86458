/** @file Launches of normalizations over any axes, and over neighbouring channels (LRN). */
import { collapseAxes } from "../../ir/collapse.ts";
import type { Emitter } from "../../ir/emitter.ts";
import { maxRank, ParamWriter } from "../../ir/params.ts";
import { storageTypes } from "../../ir/storage.ts";
import { elementCount, type View } from "../../ir/view.ts";

/** Bytes of `AxesNormParams` and `LrnParams` in axes.cuh. */
export const axesNormBytes = 224;
export const lrnBytes = 88;

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
    params: new ParamWriter()
      .pointer(x)
      .pointer(y)
      .i32(modes[mode], storageTypes[x.type].code, storageTypes[y.type].code, elementCount(reduced.sizes))
      .i32(...kept.sizes, ...kept.x, ...kept.y)
      .i32(...reduced.sizes, ...reduced.x, ...reduced.y)
      .done(),
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
    params: new ParamWriter()
      .pointer(x)
      .pointer(y)
      .i32(total, channels, positions)
      .i32(...x.strides, ...y.strides)
      .i32(x.strides[1] === 1 ? 1 : 0)
      .i32(within(Math.floor((size - 1) / 2)), within(Math.ceil((size - 1) / 2)))
      .i32(storageTypes[x.type].code, storageTypes[y.type].code)
      .f32(alpha / size, beta, bias)
      .done(),
    reads: [x],
    writes: [y],
    detail: `window ${size}`,
  });
}
