/** @file Arithmetic on what padded lanes hold. */

import {
  constantLane,
  type Failure,
  finiteLane,
  isZero,
  type Lane,
  type LaneContext,
  unknownLane,
  zeroLane,
} from "./axes.ts";
import { elementOf } from "./elementwise/number.ts";
import { asTensor } from "./shape.ts";

/** What holds in both places: lanes of two origins side by side. */
export function joinLanes(lanes: readonly Lane[]): Lane {
  const [first, ...more] = lanes;
  if (first === undefined || lanes.some(({ kind }) => kind === "unknown")) return unknownLane;
  const value = constantIn(first);
  const isSame = value !== undefined && more.every((lane) => constantIn(lane) === value);
  return failing(isSame ? first : finiteLane, worstOf(lanes));
}

function constantIn(lane: Lane): number | undefined {
  return lane.kind === "constant" ? lane.value : undefined;
}

/** The same claim, failing when `fails` says. */
export function failing(lane: Lane, fails: Failure | undefined): Lane {
  if (lane.kind === "unknown" || lane.fails === fails) return lane;
  const failure = fails === undefined ? {} : { fails };
  return lane.kind === "constant"
    ? { kind: "constant", value: lane.value, ...failure }
    : { kind: "finite", ...failure };
}

/** Sums fail where any of their terms does. */
function worstOf(lanes: readonly Lane[]): Failure | undefined {
  if (lanes.some(({ fails }) => fails === "alone")) return "alone";
  return lanes.find(({ fails }) => fails !== undefined)?.fails;
}

/** Of a product: a factor that is infinite in the true lanes leaves them infinite, whatever a gate makes of it. */
function failureOfProduct(a: Lane, b: Lane): Failure | undefined {
  return a.fails === "along" || b.fails === "along" ? "along" : (a.fails ?? b.fails);
}

/**
 * Behind an operator that takes infinity to a number. True lanes are numbers then (or NaN, which nothing mends); padded
 * ones no longer fail along with them.
 */
export function bounded(context: LaneContext, lane: Lane): Lane {
  if (context.ofTrueLanes) return lane.kind === "constant" ? failing(lane, undefined) : finiteLane;
  return failing(lane, lane.fails && "alone");
}

/** Behind an operator that makes NaN of every row with something infinite in it, where true lanes go with the padded. */
export function normalized(lane: Lane): Lane {
  return failing(lane, lane.fails === "along" ? undefined : lane.fails);
}

/** Products, and sums of products: zero times anything finite is zero. */
export function multiplyLanes(a: Lane, b: Lane): Lane {
  if (a.kind === "unknown" || b.kind === "unknown") return unknownLane;
  const fails = failureOfProduct(a, b);
  if (isZero(a) || isZero(b)) return failing(zeroLane, fails);
  const isConstant = a.kind === "constant" && b.kind === "constant";
  return failing(isConstant ? constantLane(a.value * b.value) : finiteLane, fails);
}

/** Linear in every operand and without a constant term: zero where all are zero. */
export function mixLanes(lanes: readonly Lane[]): Lane {
  if (lanes.some(({ kind }) => kind === "unknown")) return unknownLane;
  return failing(lanes.every(isZero) ? zeroLane : finiteLane, worstOf(lanes));
}

/** A constant that does not survive becomes something finite; zero stays. */
export function zeroOrFinite(lane: Lane): Lane {
  return mixLanes([lane]);
}

export function finiteIfKnown(lane: Lane): Lane {
  return lane.kind === "unknown" ? unknownLane : failing(finiteLane, lane.fails);
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
  return failing(foldConstants(context, output, lanes, f) ?? otherwise, worstOf(lanes));
}

function foldConstants(
  context: LaneContext,
  output: number,
  lanes: readonly Lane[],
  f: (values: readonly number[]) => number | undefined,
): Lane | undefined {
  const values = lanes.map(constantIn);
  if (!values.every((value) => value !== undefined)) return undefined;
  const result = f(values);
  if (result === undefined) return undefined;
  const { dtype } = asTensor(context.outputs[output]);
  const stored = dtype === undefined ? result : elementOf(result, dtype);
  if (typeof stored !== "number") return finiteLane;
  return stored === 0 && !values.every(isExact) ? finiteLane : constantLane(stored);
}

function isExact(value: number): boolean {
  return Math.abs(value) < 2 ** 20 && Number.isInteger(value * 1024);
}

/** Lanes of input `index` as an operand of lane-wise `output`: true ones where it does not have the atom. */
export function operandLane(context: LaneContext, index: number, output = 0): Lane {
  const lane = context.laneOf(index);
  const real = context.trueLane(index, true);
  if (lane === undefined || context.ofTrueLanes) return real;
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

/** Elements moved, none changed: lanes of the first input. */
export function keepLane(context: LaneContext): Lane {
  return context.laneOf(0) ?? context.trueLane(0);
}

/** Rows rescaled or walked over other axes: finite while what goes in is. */
export function finiteLanes(context: LaneContext): Lane {
  return finiteIfKnown(keepLane(context));
}

/** For each axis of the output, the axes of inputs that it continues. */
export type Sources = readonly (readonly (readonly [input: number, axis: number])[])[];

/**
 * Lanes of a product of inputs `operands`: an output axis with the atom is zero where an operand that brings the axis is
 * zero, and the others are finite. Sums over other axes are guarded by their contractions.
 */
export function productLane(
  context: LaneContext,
  sources: Sources,
  operands: readonly number[] = [0, 1],
): Lane {
  const whole = (input: number) => wholeLane(context, input);
  if (context.ofTrueLanes) return operands.map(whole).reduce(multiplyLanes, finiteLane);
  const lanes = context.axesOfOutput(0).map((position) => {
    const bringing = (sources[position] ?? []).filter(([input, axis]) =>
      context.axesOfInput(input).includes(axis),
    );
    if (bringing.length === 0) return unknownLane;
    const others = operands.filter((each) => bringing.every(([input]) => input !== each));
    const factors = [...bringing.map(([input]) => context.laneOf(input) ?? finiteLane), ...others.map(whole)];
    return factors.reduce(multiplyLanes, finiteLane);
  });
  return joinLanes(lanes);
}

/** All that an operand holds: any of it may meet a zero. */
export function wholeLane(context: LaneContext, index: number): Lane {
  return joinLanes([context.trueLane(index), context.laneOf(index) ?? context.trueLane(index)]);
}
