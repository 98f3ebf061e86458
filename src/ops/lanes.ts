/** @file Arithmetic on what padded lanes hold. */

import {
  constantLane,
  finiteLane,
  isZero,
  type Lane,
  type LaneContext,
  unknownLane,
  zeroLane,
} from "./axes.ts";
import { elementOf } from "./elementwise/number.ts";
import type { Fact } from "./op.ts";
import { asTensor, numbersOf, tensorAt } from "./shape.ts";

/** What holds in both places: lanes of two origins side by side. */
export function joinLanes(lanes: readonly Lane[]): Lane {
  const [first, ...more] = lanes;
  if (first === undefined || lanes.some(({ kind }) => kind === "unknown")) return unknownLane;
  const value = constantIn(first);
  return value !== undefined && more.every((lane) => constantIn(lane) === value) ? first : finiteLane;
}

function constantIn(lane: Lane): number | undefined {
  return lane.kind === "constant" ? lane.value : undefined;
}

/** Products, and sums of products: zero times anything finite is zero. */
export function multiplyLanes(a: Lane, b: Lane): Lane {
  if (a.kind === "unknown" || b.kind === "unknown") return unknownLane;
  if (isZero(a) || isZero(b)) return zeroLane;
  return a.kind === "constant" && b.kind === "constant" ? constantLane(a.value * b.value) : finiteLane;
}

/** Linear in every operand and without a constant term: zero where all are zero. */
export function mixLanes(lanes: readonly Lane[]): Lane {
  if (lanes.some(({ kind }) => kind === "unknown")) return unknownLane;
  return lanes.every(isZero) ? zeroLane : finiteLane;
}

/** A constant that does not survive becomes something finite; zero stays. */
export function zeroOrFinite(lane: Lane): Lane {
  return mixLanes([lane]);
}

export function finiteIfKnown(lane: Lane): Lane {
  return lane.kind === "unknown" ? unknownLane : finiteLane;
}

/**
 * `f` of constant lanes, else `otherwise`. A result beyond the output's type is not finite, and a zero counts as one
 * only where no rounding can have moved an operand: 0.1 + 0.2 − 0.3 must not become a zero.
 */
export function foldLanes(
  context: LaneContext,
  output: number,
  lanes: readonly Lane[],
  f: (values: readonly number[]) => number | undefined,
  otherwise: Lane = finiteLane,
): Lane {
  const values = lanes.map(constantIn);
  if (!values.every((value) => value !== undefined)) return otherwise;
  const result = f(values);
  if (result === undefined) return otherwise;
  const { dtype } = asTensor(context.outputs[output]);
  const stored = dtype === undefined ? result : elementOf(result, dtype);
  if (typeof stored !== "number") return finiteLane;
  return stored === 0 && !values.every(isExact) ? finiteLane : constantLane(stored);
}

function isExact(value: number): boolean {
  return Math.abs(value) < 2 ** 20 && Number.isInteger(value * 1024);
}

/** Lanes of input `index` as an operand of lane-wise `output`: real ones where it does not have the atom. */
export function operandLane(context: LaneContext, index: number, output = 0): Lane {
  const lane = context.laneOf(index);
  const real = realLane(context.inputs[index]);
  if (lane === undefined) return real;
  // An output that has the atom on more axes meets true lanes of this operand as well.
  const meetsTrue = context.axesOfOutput(output).length > context.axesOfInput(index).length;
  return meetsTrue ? joinLanes([lane, real]) : lane;
}

/** All operands that are there. */
export function operandLanes(context: LaneContext, output = 0): Lane[] {
  return context.inputs.flatMap((fact, index) =>
    fact === undefined ? [] : [operandLane(context, index, output)],
  );
}

/** True lanes: one known number everywhere, or numbers that are finite in any run that means something. */
function realLane(fact: Fact | undefined): Lane {
  const elements = numbersOf(asTensor(fact).elements);
  const [first] = elements ?? [];
  if (elements === undefined || first === undefined) return finiteLane;
  if (!elements.every(Number.isFinite)) return unknownLane;
  return elements.every((element) => element === first) ? constantLane(first) : finiteLane;
}

/** Elements moved, none changed: lanes of the first input. */
export function keepLane(context: LaneContext): Lane {
  return context.laneOf(0) ?? realLane(tensorAt(context, 0));
}

/** Rows rescaled or walked over other axes: finite while what goes in is. */
export function finiteLanes(context: LaneContext): Lane {
  return finiteIfKnown(keepLane(context));
}

/** For each axis of the output, the axes of inputs that it continues. */
export type Sources = readonly (readonly (readonly [input: number, axis: number])[])[];

/**
 * Lanes of a product of operands: an output axis with the atom is zero where an operand that brings the axis is zero.
 * Sums over other axes are guarded by their contractions.
 */
export function productLane(context: LaneContext, sources: Sources): Lane {
  const lanes = context.axesOfOutput(0).map((position) => {
    const bringing = (sources[position] ?? []).filter(([input, axis]) =>
      context.axesOfInput(input).includes(axis),
    );
    const operands = bringing.map(([input]) => context.laneOf(input) ?? finiteLane);
    return operands.length === 0 ? unknownLane : operands.reduce(multiplyLanes, finiteLane);
  });
  return joinLanes(lanes);
}
