/**
 * @file What an operator says about its axes: which are the same, which are merged or concatenated, which are summed
 * over, and what padded lanes hold afterwards. The padding solver reads only this.
 */
import type { Axis, AxisSolver, PaddedSizes } from "../ir/axis.ts";
import type { WorkContext } from "./op.ts";

/**
 * What the padded lanes of one atom hold in a value: one constant; something finite; nothing that can be relied on
 * (NaN and infinity included).
 */
export type Lane =
  | { readonly kind: "constant"; readonly value: number }
  | { readonly kind: "finite" | "unknown" };

export const zeroLane: Lane = { kind: "constant", value: 0 };
export const finiteLane: Lane = { kind: "finite" };
export const unknownLane: Lane = { kind: "unknown" };

/** A constant if it is a finite number, else unknown. */
export function constantLane(value: number): Lane {
  return Number.isFinite(value) ? { kind: "constant", value } : unknownLane;
}

export function isZero(lane: Lane): boolean {
  return lane.kind === "constant" && lane.value === 0;
}

export interface AxisContext extends WorkContext {
  readonly solver: AxisSolver;
  /** Axes of input `index`; undefined where it is omitted, or not a tensor with known sizes. */
  axesOf(index: number): readonly Axis[] | undefined;
  /** States the axes of output `index`. An output nobody states is blocked. */
  setAxes(index: number, axes: readonly Axis[]): void;
  /** `axis` is summed over products of inputs `a` and `b`: padding needs zeros in one and finite lanes in the other. */
  contract(axis: Axis, a: number, b: number): void;
  /** `axis` of input `index` is summed over: padding needs zeros there. */
  sumOver(axis: Axis, index: number): void;
  /** Padded lanes of a constant input `index` along `axis` hold `value` instead of 0 (a divisor, a variance). */
  fill(index: number, axis: Axis, value: number): void;
  /** Input `index` is a constant of whole numbers that depend on sizes (a shape, split sizes, slice ends). */
  rewriteInput(index: number, values: (sizes: PaddedSizes) => readonly number[]): void;
  rewriteAttribute(name: string, value: (sizes: PaddedSizes) => number | readonly number[]): void;
  /** Forbids padding of every axis of every input and output. */
  blockAll(reason: string): void;
}

export interface LaneContext extends WorkContext {
  /** Lanes of input `index` for the atom in question; undefined where that input does not have it (its lanes are real). */
  laneOf(index: number): Lane | undefined;
}

/** States `axes` for output 0 with those of input 0, the rest blocked: what most lane-by-lane operators want. */
export function sameAxes(context: AxisContext): void {
  const axes = context.axesOf(0);
  if (axes !== undefined) context.setAxes(0, axes);
}

/** Axes of a multidirectional broadcast of all inputs. */
export function broadcastAxes(context: AxisContext): void {
  const inputs = context.inputs.map((fact, index) =>
    fact === undefined ? undefined : context.axesOf(index),
  );
  const present = inputs.filter((axes) => axes !== undefined);
  if (present.length < context.inputs.filter((fact) => fact !== undefined).length)
    return context.blockAll("unknown sizes");
  const rank = Math.max(0, ...present.map((axes) => axes.length));
  const { solver } = context;
  const result = Array.from({ length: rank }, (_, position) => {
    const aligned = present.flatMap((axes) => axes[position - rank + axes.length] ?? []);
    const [first, ...more] = aligned.filter((axis) => !isSingle(axis));
    if (first === undefined) return aligned[0] ?? solver.atom(1);
    for (const axis of more)
      solver.unify(first, axis, `operands of ${context.node.opType} differ in structure`);
    return first;
  });
  context.setAxes(0, result);
}

function isSingle(axis: Axis): boolean {
  return axis.kind === "atom" && axis.atom.size === 1;
}
