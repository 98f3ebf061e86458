/** @file Fewer axes for elementwise kernels: neighbouring ones that all operands step through alike become one. */

import { OperandError } from "./operand-error.ts";
import { maxRank } from "./params.ts";

export interface CollapsedAxes {
  /** Outermost first, none of them 1; empty for one element. */
  readonly sizes: readonly number[];
  /** By operand, then by collapsed axis. */
  readonly strides: readonly (readonly number[])[];
}

/**
 * Axes in the memory order of the first operand (its smallest stride innermost), those of one element left out, merged
 * where every operand allows. `strides` are by operand, then by axis of `shape`; 0 where an operand repeats.
 */
export function collapseAxes(
  shape: readonly number[],
  strides: readonly (readonly number[])[],
): CollapsedAxes {
  const at = (operand: readonly number[] | undefined, axis: number) => operand?.[axis] ?? 0;
  const order = shape
    .map((_, axis) => axis)
    .filter((axis) => shape[axis] !== 1)
    .sort((a, b) => Math.abs(at(strides[0], b)) - Math.abs(at(strides[0], a)) || a - b);
  const runs: { size: number; strides: number[] }[] = [];
  for (const axis of order) {
    const size = shape[axis] ?? 1;
    const own = strides.map((operand) => at(operand, axis));
    const outer = runs.at(-1);
    if (outer?.strides.every((stride, operand) => stride === (own[operand] ?? 0) * size)) {
      outer.size *= size;
      outer.strides = own;
    } else {
      runs.push({ size, strides: own });
    }
  }
  if (runs.length > maxRank) {
    throw new OperandError(
      `an elementwise kernel over [${shape.join(",")}] walks ${runs.length} axes that do not merge; up to ${maxRank} are supported`,
    );
  }
  return {
    sizes: runs.map(({ size }) => size),
    strides: strides.map((_, operand) => runs.map((run) => run.strides[operand] ?? 0)),
  };
}
