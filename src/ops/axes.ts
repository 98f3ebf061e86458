/**
 * @file What an operator says about its axes: which are the same, which are merged or concatenated, which are summed
 * over, and what padded lanes hold afterwards. The padding solver reads only this.
 */
import { type Axis, type PaddedSizes, sizeOfAxis } from "../ir/axis.ts";
import type { AxisSolver } from "../ir/axis-solver.ts";
import type { WorkContext } from "./op.ts";

/**
 * When a claim about lanes fails, and they hold NaN: `along` with the true lanes, where something infinite went in (a
 * padded lane is 0 · ∞ where a true one is infinite); `alone`, where true lanes may be numbers again, because an operator
 * takes infinity to one (the tangent of infinity is 1, of NaN it is NaN).
 */
export type Failure = "along" | "alone";

/**
 * What the lanes of one atom hold in a value: one constant; something finite; nothing that can be relied on (NaN and
 * infinity included). A claim without `fails` holds in every run.
 */
export type Lane =
  | { readonly kind: "constant"; readonly value: number; readonly fails?: Failure }
  | { readonly kind: "finite"; readonly fails?: Failure }
  | { readonly kind: "unknown"; readonly fails?: undefined };

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
  /** Sizes of output `index`, a number standing in for each symbol; undefined where one is not known. */
  sizesOf(index: number): readonly number[] | undefined;
  /** Whether the elements of input `index` are in the file, so that they can be rewritten. */
  isStored(index: number): boolean;
  /** Elements of 1-D output `index` that something reads, by position. */
  elementsRead(index: number): ReadonlySet<number>;
  /** Whether input `index` has no element below zero, in any run. */
  isNotNegative(index: number): boolean;
  /** States the axes of output `index`. An output nobody states is blocked. */
  setAxes(index: number, axes: readonly Axis[]): void;
  /** `axis` is summed over products of inputs `a` and `b`: padding needs zeros in one and finite lanes in the other. */
  contract(axis: Axis, a: number, b: number): void;
  /** `axis` of input `index` is summed over: padding needs zeros there. */
  sumOver(axis: Axis, index: number): void;
  /** Lanes of `axis` that the outputs have are multiplied inside, by zeros, and summed. */
  sumInside(axis: Axis): void;
  /** Padded lanes of a stored input `index` along `axis` hold `value` instead of 0 (a divisor, a variance). */
  fill(index: number, axis: Axis, value: number): void;
  /** Input `index` is a constant of whole numbers that depend on sizes (a shape, split sizes, slice ends). */
  rewriteInput(index: number, values: (sizes: PaddedSizes) => readonly number[]): void;
  /**
   * Input `index` is a list of sizes, computed when the model runs; element i repeats the size of axis `axes[i]` of input
   * 0, and is taken from there. Undefined leaves an element as it is.
   */
  repeatSizes(index: number, axes: readonly (number | undefined)[]): void;
  /**
   * Input `index` holds positions along `axis` of input 0, computed when the model runs. Those that count from the end
   * are made to count from the start.
   */
  countFromStart(index: number, axis: number): void;
  /** Forbids padding in an axis unless it stays one atom in the whole graph: its true lanes then come first. */
  keepWhole(axis: Axis, verb: string): void;
  rewriteAttribute(name: string, value: (sizes: PaddedSizes) => number | readonly number[]): void;
  /** A float that the node then states; undefined leaves the attribute as it is. */
  rewriteFloat(name: string, value: (sizes: PaddedSizes) => number | undefined): void;
  /** Forbids padding in an axis. `verb` continues the sentence that starts with this node: "normalizes over it". */
  block(axis: Axis, verb: string): void;
  /** A new axis that must not be padded. */
  fixed(size: number, verb: string): Axis;
  /**
   * Input `index` has to come at its true size along its axis `position`, as the operator `verb`: by a Slice in front where that pays. An
   * input that no Slice can be put before is blocked there.
   */
  takeTrue(index: number, position: number, verb: string): void;
  /** A new axis of an output that is given at its true size, whatever an input had: a Pad behind may widen it, where that pays. */
  giveTrue(size: number, verb: string): Axis;
  /** Forbids padding of every axis of every input and output. */
  blockAll(verb: string): void;
}

/** One atom at one node; or, where `ofTrueLanes`, all that true lanes hold, as if one atom had every axis. */
export interface LaneContext extends WorkContext {
  readonly ofTrueLanes: boolean;
  /** What true lanes of input `index` hold. Stored tensors are read where `isWhole` says so, or where they are small. */
  trueLane(index: number, isWhole?: boolean): Lane;
  /** Lanes of input `index` for the atom in question; undefined where that input does not have it (its lanes are real). */
  laneOf(index: number): Lane | undefined;
  /** Positions of the axes of input `index` that have the atom. */
  axesOfInput(index: number): readonly number[];
  axesOfOutput(index: number): readonly number[];
}

/** States `axes` for output 0 with those of input 0: what most lane-by-lane operators want. */
export function sameAxes(context: AxisContext): void {
  const axes = context.axesOf(0);
  if (axes !== undefined) context.setAxes(0, axes);
}

/** Axes of every input that is there; undefined, and everything blocked, where some are not known. */
export function allInputAxes(context: AxisContext): readonly (readonly Axis[])[] | undefined {
  const lists: (readonly Axis[])[] = [];
  for (const [index, fact] of context.inputs.entries()) {
    if (fact === undefined) continue;
    const axes = context.axesOf(index);
    if (axes === undefined) {
      context.blockAll("has operands of unknown sizes");
      return undefined;
    }
    lists.push(axes);
  }
  return lists;
}

/** States for output 0 the axes of a multidirectional broadcast of all inputs. */
export function broadcastAxes(context: AxisContext): void {
  const lists = allInputAxes(context);
  if (lists !== undefined) context.setAxes(0, broadcastOf(context, lists));
}

/** Axes aligned at the last one and made one, single elements apart. */
export function broadcastOf(context: AxisContext, lists: readonly (readonly Axis[])[]): Axis[] {
  const { solver, node } = context;
  const rank = lists.reduce((most, { length }) => Math.max(most, length), 0);
  return Array.from({ length: rank }, (_, position) => {
    const aligned = lists.flatMap((axes) => axes[position - rank + axes.length] ?? []);
    const [first, ...more] = aligned.filter((axis) => sizeOfAxis(axis) !== 1);
    if (first === undefined) return aligned[0] ?? solver.atom(1);
    for (const axis of more) solver.unify(first, axis, `operands of ${node.opType} differ in structure`);
    return first;
  });
}

/** Blocks the axes of input `index` at `positions`; their successors in an output are then fixed. */
export function blockAxes(
  context: AxisContext,
  index: number,
  positions: Iterable<number>,
  verb: string,
): void {
  const axes = context.axesOf(index) ?? [];
  for (const position of positions) {
    const axis = axes[position];
    if (axis !== undefined) context.block(axis, verb);
  }
}

/**
 * For output 0 the axes of input 0 where `passes` holds; along any other axis the operator `verb`, so that it takes and gives it at its
 * true size. Undefined, and everything blocked, where sizes are not known.
 */
export function axesBesideTrue(
  context: AxisContext,
  passes: (axis: number) => boolean,
  verb: string,
): readonly Axis[] | undefined {
  return axesBeside(context, passes, (axis, position, size) => {
    if (axis !== undefined) context.takeTrue(0, position, verb);
    return context.giveTrue(size, verb);
  });
}

/** Output 0 with `axesBesideTrue`. */
export function passBesideTrue(context: AxisContext, passes: (axis: number) => boolean, verb: string): void {
  const axes = axesBesideTrue(context, passes, verb);
  if (axes !== undefined) context.setAxes(0, axes);
}

/** Output 0 with `passedAxes`. */
export function passAxes(context: AxisContext, passes: (axis: number) => boolean, verb: string): void {
  const axes = passedAxes(context, passes, verb);
  if (axes !== undefined) context.setAxes(0, axes);
}

/**
 * For output 0 the axes of input 0 where `passes` holds; every other axis is fixed, here and there, because the
 * operator `verb`. Undefined, and everything blocked, where sizes are not known.
 */
export function passedAxes(
  context: AxisContext,
  passes: (axis: number) => boolean,
  verb: string,
): readonly Axis[] | undefined {
  return axesBeside(context, passes, (axis, _position, size) => {
    if (axis !== undefined) context.block(axis, verb);
    return context.fixed(size, verb);
  });
}

/** The axes of input 0 where `passes` holds, and what `other` makes of any other. */
function axesBeside(
  context: AxisContext,
  passes: (axis: number) => boolean,
  other: (axis: Axis | undefined, position: number, size: number) => Axis,
): readonly Axis[] | undefined {
  const axes = context.axesOf(0);
  const sizes = context.sizesOf(0);
  if (axes === undefined || sizes === undefined) {
    context.blockAll("has operands of unknown sizes");
    return undefined;
  }
  return sizes.map((size, position) => {
    const axis = axes[position];
    return axis !== undefined && passes(position) ? axis : other(axis, position, size);
  });
}
