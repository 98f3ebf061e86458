/** @file Normalizations and softmax as work to be timed: what is launched, in which ways, and what has to come out. */

import type { Emitter } from "../../cuda-runtime/ir/emitter.ts";
import type { PlanTarget } from "../../cuda-runtime/ir/step.ts";
import type { FloatStorage } from "../../cuda-runtime/ir/storage.ts";
import { permuted, type View } from "../../cuda-runtime/ir/view.ts";
import { emitGroupNorm } from "../../cuda-runtime/kernels/norm/group.ts";
import type { RowLaunch } from "../../cuda-runtime/kernels/norm/rows.ts";
import { slabText } from "../../cuda-runtime/kernels/norm/slabs.ts";
import { DraftOperands } from "../../cuda-runtime/plan/draft-operands.ts";
import { emitRows, type RowKind } from "./operations.ts";

/** Whether a way of doing it, by its name, may be taken. */
export type AcceptsWay = (way: string) => boolean;

export interface Work {
  readonly name: string;
  readonly shape: readonly number[];
  readonly emit: (emitter: Emitter, x: View, y: View, accepts: AcceptsWay) => void;
  /** Of the element at a packed index. */
  readonly expected: (at: (index: number) => number, index: number) => number;
}

function wayOf({ entry, block }: RowLaunch): string {
  return `${entry} of ${block[0] * block[1]} threads`;
}

export function rowWork(kind: RowKind, rows: number, cols: number): Work {
  const row = (at: (index: number) => number, index: number) => {
    const start = Math.floor(index / cols) * cols;
    return filled(cols, (i) => at(start + i));
  };
  return {
    name: `${kind} ${rows}x${cols}`,
    shape: [rows, cols],
    emit: (emitter, x, y, accepts) => emitRows(emitter, kind, x, y, (launch) => accepts(wayOf(launch))),
    expected: (at, index) =>
      kind === "layernorm"
        ? normalized(row(at, index), at(index))
        : Math.exp(at(index)) / row(at, index).reduce((sum, x) => sum + Math.exp(x), 0),
  };
}

function filled(count: number, value: (index: number) => number): Float64Array {
  const values = new Float64Array(count);
  for (let index = 0; index < count; index++) values[index] = value(index);
  return values;
}

function normalized(values: Float64Array, x: number): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  return (x - mean) / Math.sqrt(variance + 1e-5);
}

/** [samples, positions, channels] in memory. */
export function groupWork(
  samples: number,
  channels: number,
  positions: number,
  groups = 32,
  isSilu = true,
): Work {
  const size = channels / groups;
  const request = {
    ...{ groups, scale: undefined, bias: undefined, isParameterPerGroup: false, epsilon: 1e-5, isSilu },
  };
  return {
    name: `groupnorm ${samples}x${channels}x${positions}${groups === 32 ? "" : ` of ${groups}`} nhwc${isSilu ? " silu" : ""}`,
    shape: [samples, positions, channels],
    emit: (emitter, x, y, accepts) =>
      emitGroupNorm(emitter, { ...request, x: permuted(x, [0, 2, 1]), y: permuted(y, [0, 2, 1]) }, (choice) =>
        accepts(`${choice.way} ${slabText(choice)}`),
      ),
    expected: (at, index) => {
      const base = Math.floor(index / (positions * channels)) * positions * channels;
      const first = Math.floor((index % channels) / size) * size;
      const group = filled(positions * size, (i) =>
        at(base + Math.floor(i / size) * channels + first + (i % size)),
      );
      const value = normalized(group, at(index));
      return isSilu ? value / (1 + Math.exp(-value)) : value;
    },
  };
}

export interface Way {
  readonly name: string;
  /** All launches together. */
  readonly predictedMicroseconds: number;
}

/** Every way of doing it on a target, the one that the plan takes first. */
export function waysOf(work: Work, type: FloatStorage, target: PlanTarget): Way[] {
  const names = new Set<string>();
  const predicted = (accepts: AcceptsWay) => {
    const set = new DraftOperands(target);
    work.emit(set.emitter, set.tensor("input", type, work.shape), set.output(type, work.shape), accepts);
    return set
      .actions()
      .reduce(
        (sum, action) => sum + (action.kind === "launch" ? (action.launch.predictedMicroseconds ?? 0) : 0),
        0,
      );
  };
  predicted((way) => names.add(way).has(way));
  const ways = [...names].map((name) => ({ name, predictedMicroseconds: predicted((way) => way === name) }));
  return ways.sort((a, b) => a.predictedMicroseconds - b.predictedMicroseconds);
}
