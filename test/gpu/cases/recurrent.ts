/** @file LSTM, GRU and RNN after the product with the input, against their definitions in float64. */

import type { FloatStorage } from "../../../cuda-runtime/ir/storage.ts";
import { type CellKind, cells, type GateFunction } from "../../../cuda-runtime/kernels/recurrent/cells.ts";
import type { RecurrentWay } from "../../../cuda-runtime/kernels/recurrent/choose.ts";
import { emitRecurrent } from "../../../cuda-runtime/kernels/recurrent/recurrent.ts";
import type { KernelCase } from "../../../cuda-runtime/session/harness.ts";
import type { Features } from "../../../src/hardware/architectures.ts";
import { at, type Grid } from "../arrays.ts";

interface RecurrentCase {
  readonly cell: CellKind;
  readonly type: FloatStorage;
  readonly steps: number;
  readonly batch: number;
  readonly hidden: number;
  readonly directions?: 1 | 2;
  readonly lengths?: readonly number[];
  readonly peepholes?: boolean;
  readonly clip?: number;
  readonly inputForget?: boolean;
  readonly way?: RecurrentWay["kind"];
  readonly blocks?: number;
  /** Those that nearly all networks have: the kernels know them. */
  readonly usual?: boolean;
}

const plain = (kind: GateFunction["kind"], alpha = 0, beta = 0): GateFunction => ({ kind, alpha, beta });

const functionsOf: Readonly<Record<CellKind, readonly GateFunction[]>> = {
  lstm: [plain("Sigmoid"), plain("Tanh"), plain("Softsign")],
  rnn: [plain("Tanh")],
  gru: [plain("HardSigmoid", 0.25, 0.4), plain("Tanh")],
  gruReset: [plain("Sigmoid"), plain("Softsign")],
};

const usual: Readonly<Record<CellKind, readonly GateFunction[]>> = {
  lstm: [plain("Sigmoid"), plain("Tanh"), plain("Tanh")],
  rnn: [plain("Tanh")],
  gru: [plain("Sigmoid"), plain("Tanh")],
  gruReset: [plain("Sigmoid"), plain("Tanh")],
};

const functionsFor = ({ cell, ...given }: RecurrentCase) =>
  (given.usual === true ? usual : functionsOf)[cell];

const formulas: Readonly<Partial<Record<GateFunction["kind"], (x: number, f: GateFunction) => number>>> = {
  Sigmoid: (x) => 1 / (1 + Math.exp(-x)),
  Tanh: Math.tanh,
  ScaledTanh: (x, { alpha, beta }) => alpha * Math.tanh(beta * x),
  HardSigmoid: (x, { alpha, beta }) => Math.min(1, Math.max(0, alpha * x + beta)),
  Softsign: (x) => x / (1 + Math.abs(x)),
};

interface Operands {
  readonly r: Grid;
  readonly x: Grid;
  readonly rBias: Grid;
  readonly peepholes: Grid | undefined;
  readonly h: Grid;
  readonly c: Grid;
}

interface Result {
  readonly y: Float64Array;
  readonly h: Float64Array;
  readonly c: Float64Array;
}

/** One direction of one sequence at a time. */
function reference(given: RecurrentCase, operands: Operands): Result {
  const { steps, batch, hidden, directions = 1 } = given;
  const y = new Float64Array(directions * steps * batch * hidden);
  const last = {
    h: new Float64Array(directions * batch * hidden),
    c: new Float64Array(directions * batch * hidden),
  };
  for (let d = 0; d < directions; d++) {
    for (let b = 0; b < batch; b++) {
      const length = given.lengths?.[b] ?? steps;
      const state: { h: readonly number[]; c: readonly number[] } = {
        h: Array.from({ length: hidden }, (_, j) => at(operands.h, [d, b, j])),
        c: Array.from({ length: hidden }, (_, j) => at(operands.c, [d, b, j])),
      };
      for (let step = 0; step < length; step++) {
        // The second direction goes backwards.
        const time = d === 1 ? length - 1 - step : step;
        const next = advance(given, operands, { d, b, time }, state);
        state.h = next.h;
        state.c = next.c;
        y.set(state.h, ((d * steps + time) * batch + b) * hidden);
      }
      last.h.set(state.h, (d * batch + b) * hidden);
      last.c.set(state.c, (d * batch + b) * hidden);
    }
  }
  return { y, ...last };
}

interface State {
  readonly h: readonly number[];
  readonly c: readonly number[];
}

function advance(
  given: RecurrentCase,
  { r, x, rBias, peepholes }: Operands,
  { d, b, time }: { readonly d: number; readonly b: number; readonly time: number },
  { h, c }: State,
): State {
  const { cell, hidden, clip = Number.POSITIVE_INFINITY, inputForget = false } = given;
  const functions = functionsFor(given);
  const gate = (value: number, index: number) => {
    const f = functions[index];
    const formula = f === undefined ? undefined : formulas[f.kind];
    if (f === undefined || formula === undefined) throw new Error("no such function");
    return formula(Math.min(clip, Math.max(-clip, value)), f);
  };
  const product = (g: number, j: number, state: readonly number[]) =>
    state.reduce(
      (sum, value, k) => sum + value * at(r, [d, g * hidden + j, k]),
      at(rBias, [d, g * hidden + j]),
    );
  const input = (g: number, j: number) => at(x, [d, time, b, g * hidden + j]);
  const peep = (g: number, j: number) => (peepholes === undefined ? 0 : at(peepholes, [d, g * hidden + j]));
  const units = Array.from({ length: hidden }, (_, j) => j);
  if (cell === "rnn") return { h: units.map((j) => gate(input(0, j) + product(0, j, h), 0)), c };
  if (cell === "lstm") {
    const made = units.map((j) => {
      const before = c[j] ?? 0;
      const i = gate(input(0, j) + product(0, j, h) + peep(0, j) * before, 0);
      const f = inputForget ? 1 - i : gate(input(2, j) + product(2, j, h) + peep(2, j) * before, 0);
      const after = f * before + i * gate(input(3, j) + product(3, j, h), 1);
      const o = gate(input(1, j) + product(1, j, h) + peep(1, j) * after, 0);
      const shown = functions[2];
      const formula = shown === undefined ? undefined : formulas[shown.kind];
      return { after, h: shown === undefined || formula === undefined ? 0 : o * formula(after, shown) };
    });
    return { h: made.map(({ h: value }) => value), c: made.map(({ after }) => after) };
  }
  const z = units.map((j) => gate(input(0, j) + product(0, j, h), 0));
  const reset = units.map((j) => gate(input(1, j) + product(1, j, h), 0));
  const resetState = h.map((value, j) => value * (reset[j] ?? 0));
  const candidate = units.map((j) => {
    const recurrent = cell === "gru" ? (reset[j] ?? 0) * product(2, j, h) : product(2, j, resetState);
    return gate(input(2, j) + recurrent, 1);
  });
  return { h: units.map((j) => (1 - (z[j] ?? 0)) * (candidate[j] ?? 0) + (z[j] ?? 0) * (h[j] ?? 0)), c };
}

function recurrentCase(given: RecurrentCase): KernelCase {
  const {
    cell,
    type,
    steps,
    batch,
    hidden,
    directions = 1,
    lengths,
    clip = Number.POSITIVE_INFINITY,
  } = given;
  const { cell: _cell, ...rest } = given;
  return {
    name: `${cell} ${JSON.stringify(rest)}`,
    run(harness) {
      if (!isOn(given, harness.emitter.target.features)) return;
      const rows = cells[cell].gates * hidden;
      const scale = 1.5 / Math.sqrt(hidden);
      const r = harness.tensor(type, [directions, rows, hidden], { seed: 1, scale });
      const x = harness.tensor("float32", [directions, steps, batch, rows], { seed: 2, scale: 2 });
      const rBias = harness.tensor("float32", [directions, rows], { seed: 3 });
      const peepholes =
        given.peepholes === true
          ? harness.tensor("float32", [directions, 3 * hidden], { seed: 4 })
          : undefined;
      const h = harness.tensor("float32", [directions, batch, hidden], { seed: 5 });
      const c = harness.tensor("float32", [directions, batch, hidden], { seed: 6 });
      const y = harness.output(type, [directions, steps, batch, hidden]);
      const gridOf = (view: typeof r): Grid => ({ shape: view.shape, values: harness.values(view) });
      const expected = reference(given, {
        r: gridOf(r),
        x: gridOf(x),
        rBias: gridOf(rBias),
        peepholes: peepholes === undefined ? undefined : gridOf(peepholes),
        h: gridOf(h),
        c: gridOf(c),
      });
      const isLstm = cell === "lstm";
      const request = {
        ...{ cell, steps, batch, hidden, r, x, rBias, peepholes, h, y, clip },
        reversed: [false, true].slice(0, directions),
        lengths: lengths === undefined ? undefined : harness.tensor("int32", [batch], { values: lengths }),
        c: isLstm ? c : undefined,
        inputForget: given.inputForget ?? false,
        functions: Array.from({ length: directions }, () => functionsFor(given)),
      };
      const last = emitRecurrent(harness.emitter, request, (way) => accepts(given, way));
      harness.execute();
      const single = { relative: 2e-5, absolute: 2e-5 };
      // Two halves of a state have 16 bits of it together.
      const kept =
        given.way === "tensor" && type === "bfloat16" ? { relative: 2e-4, absolute: 2e-4 } : single;
      const stored = type === "float32" ? single : { relative: 8e-3, absolute: 4e-3 };
      harness.expectClose(y, expected.y, stored, "Y");
      harness.expectClose(last, expected.h, kept, "the last state");
      if (isLstm) harness.expectClose(c, expected.c, kept, "the last cell");
    },
  };
}

function isOn({ way, type, blocks = 1 }: RecurrentCase, features: Features): boolean {
  if (way !== "tensor") return true;
  return (type === "bfloat16" ? features.bf16 : features.half) && (blocks === 1 || features.clusters);
}

function accepts({ way, blocks }: RecurrentCase, offered: RecurrentWay): boolean {
  if (way !== undefined && offered.kind !== way) return false;
  return blocks === undefined || (offered.kind === "tensor" && offered.blocks === blocks);
}

const kinds = ["lstm", "rnn", "gru", "gruReset"] as const;

const tensorCells = ["lstm", "rnn", "gru"] as const;

const all: readonly RecurrentCase[] = [
  ...kinds.flatMap((cell): RecurrentCase[] => [
    { cell, type: "float32", steps: 5, batch: 1, hidden: 7, way: "sequence" },
    {
      ...{ cell, type: "float32", steps: 6, batch: 6, hidden: 33, directions: 2 },
      ...{ lengths: [6, 1, 3, 0, 5, 2], way: "sequence" },
    },
    { cell, type: "float16", steps: 4, batch: 3, hidden: 64, way: "sequence" },
    {
      ...{ cell, type: "float32", steps: 3, batch: 5, hidden: 300, directions: 2 },
      ...{ lengths: [3, 1, 2, 3, 0], way: "step" },
    },
    { cell, type: "bfloat16", steps: 3, batch: 1, hidden: 400, way: "step" },
  ]),
  ...tensorCells.flatMap((cell) =>
    (["float16", "bfloat16"] as const).flatMap((type): RecurrentCase[] => [
      { cell, type, way: "tensor", steps: 5, batch: 1, hidden: 7, usual: true },
      {
        ...{ cell, type, way: "tensor", steps: 6, batch: 6, hidden: 100, directions: 2, usual: true },
        ...{ blocks: 1, lengths: [6, 1, 3, 0, 5, 2] },
      },
      { cell, type, way: "tensor", steps: 4, batch: 3, hidden: 33, blocks: 1 },
    ]),
  ),
  // In clusters: R in registers, and a part of it in shared memory; blocks and warps without units.
  ...tensorCells.flatMap((cell): RecurrentCase[] => [
    { cell, type: "float16", way: "tensor", steps: 4, batch: 9, hidden: 129, blocks: 2, usual: true },
    {
      ...{
        cell,
        type: "float16",
        way: "tensor",
        steps: 5,
        batch: 5,
        hidden: 256,
        directions: 2,
        usual: true,
      },
      ...{ blocks: 8, lengths: [5, 1, 0, 3, 2] },
    },
    { cell, type: "bfloat16", way: "tensor", steps: 3, batch: 2, hidden: 250, blocks: 4 },
    { cell, type: "float16", way: "tensor", steps: 3, batch: 2, hidden: 330, blocks: 8, usual: true },
  ]),
  {
    ...{ cell: "lstm", type: "float16", way: "tensor", steps: 5, batch: 2, hidden: 140, directions: 2 },
    ...{ peepholes: true, clip: 0.7 },
  },
  {
    ...{ cell: "lstm", type: "float16", way: "tensor", steps: 4, batch: 2, hidden: 12, usual: true },
    ...{ peepholes: true, inputForget: true },
  },
  {
    cell: "lstm",
    type: "float32",
    steps: 5,
    batch: 2,
    hidden: 20,
    peepholes: true,
    clip: 0.7,
    directions: 2,
  },
  { cell: "lstm", type: "float32", steps: 4, batch: 2, hidden: 12, peepholes: true, inputForget: true },
];

export const cases: readonly KernelCase[] = all.map(recurrentCase);
