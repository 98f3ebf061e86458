/** @file The recurrence of LSTM, GRU and RNN, after the product of the whole input with W. */

import type { Emitter } from "../../ir/emitter.ts";
import { type ValuesOf, writeParams } from "../../ir/param-table.ts";
import type { Dim3 } from "../../ir/step.ts";
import { type FloatStorage, storageTypes } from "../../ir/storage.ts";
import type { View } from "../../ir/view.ts";
import { type CellKind, cells, type GateFunction, gateActivations, noGate } from "./cells.ts";
import {
  type AcceptsWay,
  chooseRecurrent,
  lanesOf,
  type RecurrentSizes,
  type RecurrentWay,
  sequenceSharedBytes,
  sequenceThreads,
  stepLaunchesMicroseconds,
  tensorSequences,
  tensorSharedBytes,
} from "./choose.ts";
import { type gateFunctionStruct, recurrentStruct } from "./params.table.ts";

export interface RecurrentRequest {
  readonly cell: CellKind;
  readonly steps: number;
  readonly batch: number;
  readonly hidden: number;
  /** By direction: whether it goes from the end. */
  readonly reversed: readonly boolean[];
  /** [directions, gates · hidden, hidden], packed, of a float storage type. */
  readonly r: View;
  /** float32 [directions, steps, batch, gates · hidden], the last axis packed; any memory order. */
  readonly x: View;
  /** float32 [directions, gates · hidden], packed. */
  readonly rBias: View | undefined;
  /** float32 [directions, 3 · hidden], packed: input, output, forget. */
  readonly peepholes: View | undefined;
  /** int32 [batch], packed. */
  readonly lengths: View | undefined;
  /** float32 [directions, batch, hidden], packed. Overwritten. */
  readonly h: View;
  /** The same for an LSTM; the last state when it is done. */
  readonly c: View | undefined;
  /** [directions, steps, batch, hidden] in any memory order whose last axis is packed. */
  readonly y: View | undefined;
  readonly clip: number;
  readonly inputForget: boolean;
  /** By direction: the functions f, g and h that ONNX names. */
  readonly functions: readonly (readonly GateFunction[])[];
}

const stepWarps = 4;

/** @returns The state after the last step: `request.h` or memory of its own. */
export function emitRecurrent(emitter: Emitter, request: RecurrentRequest, accepts?: AcceptsWay): View {
  const { steps, batch, r, h } = request;
  if (steps === 0 || batch === 0) return h;
  const sizes = { ...request, type: floatType(r), directions: request.reversed.length };
  const { launch: way, microseconds } = chooseRecurrent(sizes, emitter.target, accepts);
  if (way.kind === "step") return emitSteps(emitter, request, sizes);
  const to = emitter.temporary("float32", h.shape);
  const state = { from: h, to, reset: undefined, update: undefined };
  launch(emitter, request, { ...shapeOf(way, sizes), state, step: 0, rounds: steps, microseconds });
  return to;
}

type WholeWay = Exclude<RecurrentWay, { kind: "step" }>;

/** Of a launch that does all steps. */
function shapeOf(way: WholeWay, sizes: RecurrentSizes): LaunchShape {
  const { cell, type, batch, directions, hidden } = sizes;
  const row = cells[cell];
  if (way.kind === "sequence") {
    const lanes = lanesOf(sizes);
    return {
      entry: `${row.sequenceKernel}_${type}_b${lanes}`,
      grid: [1, directions, Math.ceil(batch / lanes)],
      threads: sequenceThreads,
      sharedBytes: sequenceSharedBytes(sizes),
    };
  }
  const { kept, blocks, warps } = way;
  const team = blocks > 1 ? `, ${blocks} blocks in a cluster` : "";
  return {
    entry: `${row.tensorKernel}_${type}_k${kept}`,
    grid: [blocks, directions, Math.ceil(batch / tensorSequences)],
    cluster: blocks > 1 ? [blocks, 1, 1] : undefined,
    threads: 32 * warps,
    sharedBytes: tensorSharedBytes(way, sizes),
    detail: `${batch}x${hidden}, R kept by ${warps} warps${team}`,
  };
}

function emitSteps(emitter: Emitter, request: RecurrentRequest, sizes: RecurrentSizes): View {
  const { cell, steps, batch, hidden, h } = request;
  const { stepKernels } = cells[cell];
  const lanes = lanesOf(sizes);
  const isSplit = stepKernels.length > 1;
  const reset = isSplit ? emitter.temporary("float32", h.shape) : undefined;
  const update = isSplit ? emitter.temporary("float32", h.shape) : undefined;
  const grid: Dim3 = [Math.ceil(hidden / stepWarps), sizes.directions, Math.ceil(batch / lanes)];
  const microseconds = stepLaunchesMicroseconds(sizes, emitter.target) / stepKernels.length;
  let [from, to] = [h, emitter.temporary("float32", h.shape)];
  for (let step = 0; step < steps; step++) {
    for (const kernel of stepKernels) {
      launch(emitter, request, {
        entry: `${kernel}_${sizes.type}_b${lanes}`,
        ...{ grid, threads: 32 * stepWarps, sharedBytes: 0, step, rounds: 1, microseconds },
        state: { from, to, reset, update },
      });
    }
    [from, to] = [to, from];
  }
  return from;
}

interface LaunchShape {
  readonly entry: string;
  readonly grid: Dim3;
  readonly cluster?: Dim3 | undefined;
  readonly threads: number;
  readonly sharedBytes: number;
  readonly detail?: string;
}

interface StepLaunch extends LaunchShape {
  readonly state: {
    readonly from: View;
    readonly to: View;
    readonly reset: View | undefined;
    readonly update: View | undefined;
  };
  readonly step: number;
  /** Steps that the launch does. */
  readonly rounds: number;
  readonly microseconds: number;
}

function launch(emitter: Emitter, request: RecurrentRequest, at: StepLaunch): void {
  const { r, x, rBias, peepholes, lengths, c, y, steps, batch, hidden, reversed } = request;
  const { from, to, reset, update } = at.state;
  const yType: FloatStorage | undefined = y === undefined ? undefined : floatType(y);
  const params = writeParams(recurrentStruct, {
    r,
    x,
    rBias,
    peepholes,
    lengths,
    hIn: from,
    hOut: to,
    c,
    reset,
    update,
    y,
    step: at.step,
    steps,
    batch,
    hidden,
    xStrides: x.strides.slice(0, 3),
    yStrides: y?.strides.slice(0, 3) ?? [],
    yType: yType === undefined ? 0 : storageTypes[yType].code,
    reversed,
    inputForget: request.inputForget,
    clip: request.clip,
    functions: [0, 1].flatMap((direction) => functionFields(request.functions[direction] ?? [])),
  });
  const written = [to, c, reset, update, y].filter((view) => view !== undefined);
  const read = [r, x, rBias, peepholes, lengths, from, c, reset, update].filter((view) => view !== undefined);
  emitter.launch({
    kernel: { kind: "built", family: "recurrent", entry: at.entry },
    grid: at.grid,
    cluster: at.cluster,
    block: [at.threads, 1, 1],
    sharedBytes: at.sharedBytes,
    params,
    reads: read,
    writes: written,
    flops: at.rounds * 2 * cells[request.cell].gates * hidden * hidden * batch * reversed.length,
    predictedMicroseconds: at.microseconds,
    detail: at.detail,
  });
}

function floatType(view: View): FloatStorage {
  const { type } = view;
  if (type === "float32" || type === "float16" || type === "bfloat16") return type;
  throw new RangeError(`tc-lint bug: a recurrence writes ${type}`);
}

/** Of the three gates of a direction. */
function functionFields(functions: readonly GateFunction[]): ValuesOf<typeof gateFunctionStruct>[] {
  return [0, 1, 2].map((index) => {
    const { kind, alpha, beta } = functions[index] ?? noGate;
    return { kind: gateActivations[kind], alpha, beta };
  });
}
