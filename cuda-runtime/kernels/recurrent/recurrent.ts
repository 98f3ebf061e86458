/** @file The recurrence of LSTM, GRU and RNN, after the product of the whole input with W. */

import type { ActivationName } from "../../../src/ir/activations.ts";
import { waitMicroseconds } from "../../cost/predict.ts";
import type { Emitter } from "../../ir/emitter.ts";
import { type ValuesOf, writeParams } from "../../ir/param-table.ts";
import type { Dim3, PlanTarget } from "../../ir/step.ts";
import { bytesOfType, type FloatStorage, storageTypes } from "../../ir/storage.ts";
import type { View } from "../../ir/view.ts";
import { type gateFunctionStruct, recurrentStruct } from "./params.table.ts";

/** Codes are `GateActivation` in recurrent.cu. */
export const gateActivations = {
  Sigmoid: 0,
  Tanh: 1,
  Relu: 2,
  Affine: 3,
  LeakyRelu: 4,
  ThresholdedRelu: 5,
  ScaledTanh: 6,
  HardSigmoid: 7,
  Elu: 8,
  Softsign: 9,
  Softplus: 10,
} as const satisfies Readonly<Partial<Record<ActivationName, number>>>;

export interface GateFunction {
  readonly kind: keyof typeof gateActivations;
  readonly alpha: number;
  readonly beta: number;
}

/** "gruReset": the reset comes before the product with R. */
export type CellKind = "lstm" | "rnn" | "gru" | "gruReset";

interface CellRow {
  readonly gates: number;
  /** Kernels of one time step, in order. */
  readonly stepKernels: readonly string[];
  readonly sequenceKernel: string;
  /** Arrays of the state that a sequence kernel keeps in shared memory. */
  readonly arrays: number;
}

export const cells: Readonly<Record<CellKind, CellRow>> = {
  lstm: { gates: 4, stepKernels: ["lstm_step"], sequenceKernel: "lstm_sequence", arrays: 2 },
  rnn: { gates: 1, stepKernels: ["rnn_step"], sequenceKernel: "rnn_sequence", arrays: 2 },
  gru: { gates: 3, stepKernels: ["gru_step"], sequenceKernel: "gru_sequence", arrays: 2 },
  gruReset: {
    gates: 3,
    stepKernels: ["gru_gates_step", "gru_candidate_step"],
    sequenceKernel: "gru_reset_sequence",
    arrays: 4,
  },
};

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
const sequenceThreads = 512;
const laneBytes = 4;
/** R is read once a step by each block: beyond what stays close to a multiprocessor, a launch a step is faster. */
const maxSequenceBytes = 262_144;

/** @returns The state after the last step: `request.h` or memory of its own. */
export function emitRecurrent(emitter: Emitter, request: RecurrentRequest): View {
  const { cell, steps, batch, hidden, reversed, r, h } = request;
  if (steps === 0 || batch === 0) return h;
  const row = cells[cell];
  const lanes = batch === 1 ? 1 : 4;
  const tiles = Math.ceil(batch / lanes);
  const suffix = `${r.type}_b${lanes}`;
  const other = emitter.temporary("float32", h.shape);
  const sharedBytes = row.arrays * lanes * hidden * laneBytes;
  const bytes = row.gates * hidden * hidden * bytesOfType(r.type);
  if (bytes <= maxSequenceBytes && sharedBytes <= 48 * 1024) {
    const grid: Dim3 = [1, reversed.length, tiles];
    launch(emitter, request, {
      entry: `${row.sequenceKernel}_${suffix}`,
      grid,
      threads: sequenceThreads,
      sharedBytes,
      state: { from: h, to: other, reset: undefined, update: undefined },
      step: 0,
      predictedMicroseconds: sequenceMicroseconds(request, bytes, emitter.target),
    });
    return other;
  }
  const isSplit = row.stepKernels.length > 1;
  const reset = isSplit ? emitter.temporary("float32", h.shape) : undefined;
  const update = isSplit ? emitter.temporary("float32", h.shape) : undefined;
  const grid: Dim3 = [Math.ceil(hidden / stepWarps), reversed.length, tiles];
  let [from, to] = [h, other];
  for (let step = 0; step < steps; step++) {
    for (const kernel of row.stepKernels) {
      const state = { from, to, reset, update };
      const entry = `${kernel}_${suffix}`;
      launch(emitter, request, { entry, grid, threads: 32 * stepWarps, sharedBytes: 0, state, step });
    }
    [from, to] = [to, from];
  }
  return from;
}

interface StepLaunch {
  readonly entry: string;
  readonly grid: Dim3;
  readonly threads: number;
  readonly sharedBytes: number;
  readonly state: {
    readonly from: View;
    readonly to: View;
    readonly reset: View | undefined;
    readonly update: View | undefined;
  };
  readonly step: number;
  /** Of a kernel that does all steps; one step is priced as a pass over memory. */
  readonly predictedMicroseconds?: number;
}

/** Of a step in a sequence kernel beside its reading of R: two barriers and the gates (estimated). */
const stepMicroseconds = 0.8;
/** Of a hidden unit, a warp joins the sums of its gates and applies them (bench/measurements/h200-runtime-steps.jsonl: one size). */
const unitRounds = 4.5;
/** One block goes through all steps, and reads R of `bytes` at each: a warp has some hidden units, one after another. */
function sequenceMicroseconds(
  { steps, hidden }: RecurrentRequest,
  bytes: number,
  target: PlanTarget,
): number {
  const { bytesPerClock, clocksPerMicrosecond, launchMicroseconds } = target;
  const reading = bytes / (bytesPerClock.l2 * clocksPerMicrosecond);
  const units = Math.ceil((32 * hidden) / sequenceThreads);
  const waiting = waitMicroseconds(units * (Math.ceil(hidden / 32) + unitRounds), target);
  return launchMicroseconds + steps * (stepMicroseconds + reading + waiting);
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
  const rounds = at.predictedMicroseconds === undefined ? 1 : steps;
  const written = [to, c, reset, update, y].filter((view) => view !== undefined);
  const read = [r, x, rBias, peepholes, lengths, from, c, reset, update].filter((view) => view !== undefined);
  emitter.launch({
    kernel: { kind: "built", family: "recurrent", entry: at.entry },
    grid: at.grid,
    block: [at.threads, 1, 1],
    sharedBytes: at.sharedBytes,
    params,
    reads: read,
    writes: written,
    flops: rounds * 2 * cells[request.cell].gates * hidden * hidden * batch * reversed.length,
    predictedMicroseconds: at.predictedMicroseconds,
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
    const { kind, alpha, beta } = functions[index] ?? { kind: "Sigmoid", alpha: 0, beta: 0 };
    return { kind: gateActivations[kind], alpha, beta };
  });
}
