/** @file LSTM, GRU and RNN: one product for the whole input, then the recurrence. */
import { activations } from "../../src/ir/activations.ts";

import { plainEpilogue } from "../ir/epilogue.ts";
import { isFloatStorage } from "../ir/storage.ts";
import { permuted, sliced, type View } from "../ir/view.ts";
import { emitGemm } from "../kernels/gemm/gemm.ts";
import { type CellKind, cells, type GateFunction, gateActivations } from "../kernels/recurrent/cells.ts";
import { emitRecurrent } from "../kernels/recurrent/recurrent.ts";
import type { Lower, LowerContext, LowerTable } from "./context.ts";
import { mustReshape, reshapedOrCopied } from "./movement-arguments.ts";

interface Sizes {
  readonly steps: number;
  readonly batch: number;
  readonly hidden: number;
  readonly gates: number;
  readonly reversed: readonly boolean[];
  /** Layout 1: batch before steps in X and Y, before directions in the states. */
  readonly batchFirst: boolean;
}

interface Form {
  readonly cell: (context: LowerContext) => CellKind;
  /** Activations of one direction unless the node names others. */
  readonly defaults: readonly GateFunction["kind"][];
}

const forms = {
  LSTM: { cell: () => "lstm", defaults: ["Sigmoid", "Tanh", "Tanh"] },
  GRU: {
    cell: (context) => ((context.int("linear_before_reset") ?? 0) !== 0 ? "gru" : "gruReset"),
    defaults: ["Sigmoid", "Tanh"],
  },
  RNN: { cell: () => "rnn", defaults: ["Tanh"] },
} satisfies Record<string, Form>;

function recurrent(form: Form): Lower {
  return (context) => {
    const cell = form.cell(context);
    const sizes = sizesOf(context, cells[cell].gates);
    const bias = context.hasInput(3) ? context.packed(context.input(3), { type: "float32" }) : undefined;
    const rows = sizes.gates * sizes.hidden;
    const isLstm = cell === "lstm";
    const y = context.hasOutput(0) ? context.output(0) : undefined;
    if (y !== undefined && !isFloatStorage(y.type))
      context.fail(`gives ${y.type}, supported are float32 and halves`);
    const c = isLstm ? initialState(context, 6, sizes) : undefined;
    const h = emitRecurrent(context, {
      ...sizes,
      cell,
      r: context.packed(floatInput(context, 2)),
      x: gateInputs(context, sizes, bias),
      rBias: bias === undefined ? undefined : context.packed(sliced(bias, 1, rows, rows)),
      peepholes:
        isLstm && context.hasInput(7) ? context.packed(context.input(7), { type: "float32" }) : undefined,
      lengths: context.hasInput(4) ? context.packed(context.input(4), { type: "int32" }) : undefined,
      h: initialState(context, 5, sizes),
      c,
      y: y === undefined ? undefined : permuted(y, sizes.batchFirst ? [2, 1, 0, 3] : [1, 0, 2, 3]),
      clip: context.float("clip") ?? Number.POSITIVE_INFINITY,
      inputForget: (context.int("input_forget") ?? 0) !== 0,
      functions: functionsOf(context, form.defaults, sizes.reversed.length),
    });
    if (context.hasOutput(1)) context.setOutput(1, stateView(h, sizes));
    if (c !== undefined && context.hasOutput(2)) context.setOutput(2, stateView(c, sizes));
  };
}

function sizesOf(context: LowerContext, gates: number): Sizes {
  const direction = context.string("direction") ?? "forward";
  const batchFirst = (context.int("layout") ?? 0) !== 0;
  const [first = 0, second = 0] = context.inputShape(0);
  const hidden = context.inputShape(2)[2] ?? 0;
  const reversed = direction === "bidirectional" ? [false, true] : [direction === "reverse"];
  const [steps, batch] = batchFirst ? [second, first] : [first, second];
  return { steps, batch, hidden, gates, reversed, batchFirst };
}

function floatInput(context: LowerContext, index: number): View {
  const view = context.input(index);
  if (!isFloatStorage(view.type)) context.fail(`takes ${view.type}, supported are float32 and halves`);
  return view;
}

/** X times the transpose of W, the first half of B added: float32 [directions, steps, batch, gates · hidden]. */
function gateInputs(context: LowerContext, sizes: Sizes, bias: View | undefined): View {
  const { steps, batch, hidden, gates, reversed, batchFirst } = sizes;
  const given = floatInput(context, 0);
  const w = floatInput(context, 1);
  const typed = given.type === w.type ? given : context.packed(given, { type: w.type });
  const width = given.shape[2] ?? 0;
  const rows = gates * hidden;
  const a = reshapedOrCopied(context, typed, [steps * batch, width]);
  const x = context.temporary("float32", [reversed.length, steps * batch, rows]);
  for (const direction of reversed.keys()) {
    const part = (view: View, shape: readonly number[]) =>
      mustReshape(context, sliced(view, 0, direction, 1), shape);
    emitGemm(context, {
      a,
      b: permuted(part(w, [rows, width]), [1, 0]),
      to: part(x, [steps * batch, rows]),
      epilogue: {
        ...plainEpilogue,
        bias: bias === undefined ? undefined : context.packed(part(sliced(bias, 1, 0, rows), [rows])),
      },
    });
  }
  const split = batchFirst ? [reversed.length, batch, steps, rows] : [reversed.length, steps, batch, rows];
  const apart = mustReshape(context, x, split);
  return batchFirst ? permuted(apart, [0, 2, 1, 3]) : apart;
}

/** float32 [directions, batch, hidden] in memory of its own, zeros where the node gives none. */
function initialState(
  context: LowerContext,
  index: number,
  { batch, hidden, reversed, batchFirst }: Sizes,
): View {
  const state = context.temporary("float32", [reversed.length, batch, hidden]);
  if (!context.hasInput(index)) context.clear(state);
  else {
    const given = context.input(index);
    context.copy(batchFirst ? permuted(given, [1, 0, 2]) : given, state);
  }
  return state;
}

function stateView(state: View, { batchFirst }: Sizes): View {
  return batchFirst ? permuted(state, [1, 0, 2]) : state;
}

/** alpha and beta list values only for the functions that have them, in order over all directions. */
function functionsOf(
  context: LowerContext,
  defaults: readonly GateFunction["kind"][],
  directions: number,
): GateFunction[][] {
  const names = context.strings("activations") ?? Array.from({ length: directions }, () => defaults).flat();
  const alphas = (context.floats("activation_alpha") ?? []).values();
  const betas = (context.floats("activation_beta") ?? []).values();
  const all = names.map((name): GateFunction => {
    const kind = activationNamed(context, name);
    const [alpha, beta]: readonly number[] = activations[kind].defaults;
    return {
      kind,
      alpha: alpha === undefined ? 0 : (alphas.next().value ?? alpha),
      beta: beta === undefined ? 0 : (betas.next().value ?? beta),
    };
  });
  if (all.length !== directions * defaults.length) {
    context.fail(`names ${all.length} activations, expected ${directions * defaults.length}`);
  }
  return Array.from({ length: directions }, (_, direction) =>
    all.slice(direction * defaults.length, (direction + 1) * defaults.length),
  );
}

function activationNamed(context: LowerContext, name: string): GateFunction["kind"] {
  const known = Object.keys(gateActivations).filter(isActivation);
  // ONNX Runtime ignores case, and so do exporters.
  return (
    known.find((kind) => kind.toLowerCase() === name.toLowerCase()) ??
    context.fail(`has the activation ${name}, supported are ${known.join(", ")}`)
  );
}

function isActivation(name: string): name is GateFunction["kind"] {
  return Object.hasOwn(gateActivations, name);
}

export const recurrentLowerings: LowerTable = {
  LSTM: recurrent(forms.LSTM),
  GRU: recurrent(forms.GRU),
  RNN: recurrent(forms.RNN),
};
