/** @file What recurrences are made of: cells, and the functions of their gates. */

import type { ActivationName } from "../../../src/ir/activations.ts";

/** Codes are `GateActivation` in gates.cuh. */
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

/** States of others may leave the range of two halves. */
export const boundedGates: ReadonlySet<GateFunction["kind"]> = new Set([
  "Sigmoid",
  "Tanh",
  "HardSigmoid",
  "Softsign",
]);

/** Of a gate that a cell does not have. */
export const noGate: GateFunction = { kind: "Sigmoid", alpha: 0, beta: 0 };

/** "gruReset": the reset comes before the product with R. */
export type CellKind = "lstm" | "rnn" | "gru" | "gruReset";

interface CellRow {
  readonly gates: number;
  /** Kernels of one time step, in order. */
  readonly stepKernels: readonly string[];
  readonly sequenceKernel: string;
  /** What keeps R on Tensor Cores, where there is such a kernel. */
  readonly tensorKernel: string | undefined;
  /** Arrays of the state that a sequence kernel keeps in shared memory. */
  readonly arrays: number;
}

export const cells: Readonly<Record<CellKind, CellRow>> = {
  lstm: {
    gates: 4,
    stepKernels: ["lstm_step"],
    sequenceKernel: "lstm_sequence",
    tensorKernel: "lstm_tensor",
    arrays: 2,
  },
  rnn: {
    gates: 1,
    stepKernels: ["rnn_step"],
    sequenceKernel: "rnn_sequence",
    tensorKernel: "rnn_tensor",
    arrays: 2,
  },
  gru: {
    gates: 3,
    stepKernels: ["gru_step"],
    sequenceKernel: "gru_sequence",
    tensorKernel: "gru_tensor",
    arrays: 2,
  },
  gruReset: {
    gates: 3,
    stepKernels: ["gru_gates_step", "gru_candidate_step"],
    sequenceKernel: "gru_reset_sequence",
    tensorKernel: undefined,
    arrays: 4,
  },
};
