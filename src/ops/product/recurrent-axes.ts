/**
 * @file Axes and padded lanes of recurrences: rows of the weights are gates × hidden.
 *
 * A padded hidden unit has zero weights, biases and states: every gate is some number, the candidate tanh(0), and the
 * unit stays zero in all steps.
 */

import { activations, isActivation } from "../../ir/activations.ts";
import { type Axis, paddedSize } from "../../ir/axis.ts";
import {
  type AxisContext,
  blockAxes,
  finiteLane,
  isZero,
  type Lane,
  type LaneContext,
  zeroLane,
} from "../axes.ts";
import { bounded, failing, mixLanes } from "../lanes.ts";

const countsDirections = "counts directions by it";

/** Inputs X, W, R, B, lengths, initial states. */
const [x, w, r, bias, lengths, hiddenState, cellState, peepholes] = [0, 1, 2, 3, 4, 5, 6, 7] as const;

interface Form {
  readonly gates: number;
  readonly states: number;
}

export function recurrentAxes(context: AxisContext, { gates, states }: Form): void {
  const [input, weights, recurrence] = [x, w, r].map((index) => context.axesOf(index));
  const [directions, rows, inputSize] = weights ?? [];
  const hidden = recurrence?.[2];
  if (input?.length !== 3 || directions === undefined || rows === undefined) {
    return context.blockAll("has operands of unknown sizes");
  }
  if (inputSize === undefined || hidden === undefined || recurrence === undefined) return;
  const { solver } = context;
  const why = "hidden units differ in structure";
  const batchFirst = (context.int("layout") ?? 0) !== 0;
  for (const index of [w, r, bias, peepholes]) blockAxes(context, index, [0], countsDirections);
  for (const index of [hiddenState, cellState]) {
    blockAxes(context, index, [batchFirst ? 1 : 0], countsDirections);
  }
  for (const axis of [rows, recurrence[1]]) tieGates(context, axis, gates, hidden);
  tieGates(context, context.axesOf(bias)?.[1], 2 * gates, hidden);
  tieGates(context, context.axesOf(peepholes)?.[1], 3, hidden);
  for (const state of [hiddenState, cellState]) {
    const axis = context.axesOf(state)?.at(-1);
    if (axis !== undefined) solver.unify(hidden, axis, why);
  }
  const [features] = input.slice(-1);
  if (features !== undefined) solver.unify(features, inputSize, "features differ in structure");
  context.contract(inputSize, x, w);
  // The product with the hidden state is inside: its zero side must be the weights.
  if (!context.isStored(r)) context.block(hidden, "computes its recurrence");
  context.sumInside(hidden);
  context.rewriteAttribute("hidden_size", (sizes) => paddedSize(hidden, sizes));
  stateOutputs(context, input, directions, hidden, states);
}

function tieGates(context: AxisContext, axis: Axis | undefined, gates: number, hidden: Axis): void {
  if (axis === undefined) return;
  const parts = context.solver.split(axis, gates);
  if (parts === undefined) {
    context.block(axis, "has gates that do not come apart");
    context.block(hidden, "has gates that do not come apart");
    return;
  }
  context.block(parts[0], "counts gates by it");
  context.solver.unify(parts[1], hidden, "hidden units differ in structure");
}

function stateOutputs(
  context: AxisContext,
  input: readonly Axis[],
  directions: Axis,
  hidden: Axis,
  states: number,
): void {
  const batchFirst = (context.int("layout") ?? 0) !== 0;
  const [first, second] = input;
  const [steps, batch] = batchFirst ? [second, first] : [first, second];
  if (steps === undefined || batch === undefined) return;
  context.block(steps, "walks along it");
  tieBatch(context, batch, batchFirst);
  context.setAxes(0, batchFirst ? [batch, steps, directions, hidden] : [steps, directions, batch, hidden]);
  for (let state = 1; state <= states; state++) {
    context.setAxes(state, batchFirst ? [batch, directions, hidden] : [directions, batch, hidden]);
  }
}

function tieBatch(context: AxisContext, batch: Axis, batchFirst: boolean): void {
  for (const index of [lengths, hiddenState, cellState]) {
    const axes = context.axesOf(index);
    const axis = axes?.[index === lengths || batchFirst ? 0 : 1];
    if (axis !== undefined) context.solver.unify(batch, axis, "batches differ in structure");
  }
  // A padded sequence of length 0 may not be allowed.
  if (context.inputs[lengths] !== undefined) context.block(batch, "reads lengths along it");
}

/** Of each direction's activations the first is that of the gates, where there are gates. */
function keepsZeros(context: LaneContext, { gates, states }: Form): boolean {
  const perDirection = gates === 1 ? 1 : states + 1;
  return (context.strings("activations") ?? []).every(
    (name, at) =>
      (isActivation(name) && activations[name].keepsZero) || (gates > 1 && at % perDirection === 0),
  );
}

/** The hidden axis comes last in every output. */
export function recurrentLane(context: LaneContext, output: number, form: Form): Lane {
  const read = [x, w, r, bias, hiddenState, cellState];
  const lanes = read.flatMap((index) => context.laneOf(index) ?? context.trueLane(index));
  const known = mixLanes(lanes);
  // Gates and states saturate: infinity that goes in comes out as a number, and meets the padded units inside.
  if (context.ofTrueLanes) return bounded(context, finiteLane);
  if (known.kind === "unknown") return known;
  const last = output === 0 ? 3 : 2;
  const positions = context.axesOfOutput(output);
  const units = [w, r, bias, hiddenState, cellState].filter((index) => context.inputs[index] !== undefined);
  const isDead =
    keepsZeros(context, form) && units.every((index) => isZero(context.laneOf(index) ?? finiteLane));
  const isZeroed = positions.every((position) => position === last) && isDead;
  return bounded(context, failing(isZeroed ? zeroLane : finiteLane, known.fails));
}
