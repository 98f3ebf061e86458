/**
 * @file How many elements a slice of one axis keeps, in numbers and in symbols.
 *
 * Plain numbers follow the definition exactly, clamping included. Where the size of the axis or a bound is symbolic, the
 * slice is taken to keep at least one element (an exporter writes no others), so x[k:] of N keeps N − k and x[-1:] keeps 1;
 * only an upper bound that may lie beyond the axis stays as a minimum.
 */

import { isLess } from "../../ir/bounds.ts";
import { addDims, ceilDivDims, type Dim, minDims, subDims, unknownDim } from "../../ir/dim.ts";
import { ShapeError } from "../op.ts";

/** Bounds from here on mean "to the end": exporters write the largest INT32 or INT64, and no axis is that long. */
const beyondEveryAxis = 2 ** 31 - 1;

/** Undefined where a bound or step is not known at all. */
export interface SliceBounds {
  readonly start: Dim | undefined;
  readonly end: Dim | undefined;
  readonly step: Dim | undefined;
}

/** Elements kept of an axis of `size`. Throws on a step of 0. */
export function sliceExtent(size: Dim, { start, end, step }: SliceBounds): Dim {
  if (step === 0) throw new ShapeError("Slice has a step of 0");
  if (start === undefined || end === undefined || typeof step !== "number") return unknownDim();
  if (typeof size === "number" && typeof start === "number" && typeof end === "number") {
    const [from, to] = clampedBounds(size, start, end, step);
    return Math.max(0, Math.ceil((to - from) / step));
  }
  const kept = step > 0 ? forwardExtent(size, start, end) : backwardExtent(size, start, end);
  return typeof kept === "number" && kept <= 0 ? 0 : ceilDivDims(kept, Math.abs(step));
}

/** First position and the position to stop before, as the definition of Slice clamps them. */
export function clampedBounds(size: number, start: number, end: number, step: number): [number, number] {
  const clamp = (bound: number, low: number, high: number) =>
    Math.min(high, Math.max(low, bound < 0 ? bound + size : bound));
  return step > 0
    ? [clamp(start, 0, size), clamp(end, 0, size)]
    : [clamp(start, 0, size - 1), clamp(end, -1, size - 1)];
}

/** A bound as a distance from one end of the axis. */
type Bound = { readonly from: "start" | "end"; readonly distance: Dim };

function boundOf(bound: Dim): Bound {
  if (typeof bound === "number") {
    if (bound >= beyondEveryAxis) return { from: "end", distance: 0 };
    if (bound <= -beyondEveryAxis) return { from: "start", distance: 0 };
  }
  // An expression that is not evidently below zero counts from the start, as sizes do.
  return isLess(bound, typeof bound === "number" ? 0 : 1) === true
    ? { from: "end", distance: subDims(0, bound) }
    : { from: "start", distance: bound };
}

function forwardExtent(size: Dim, givenStart: Dim, givenEnd: Dim): Dim {
  const start = boundOf(givenStart);
  const end = boundOf(givenEnd);
  const before = start.from === "start" ? start.distance : subDims(size, start.distance);
  if (start.from === "end" && end.from === "end") {
    const kept = subDims(start.distance, end.distance);
    return atMost(subDims(size, end.distance), kept);
  }
  if (end.from === "end") return subDims(subDims(size, end.distance), before);
  return atMost(subDims(size, before), subDims(end.distance, before));
}

/** The smaller, where a slice keeps at least one: an upper bound of 1 or less decides. */
function atMost(available: Dim, wanted: Dim): Dim {
  return typeof wanted === "number" && wanted <= 1 ? wanted : minDims(available, wanted);
}

/** From `start` down to, not including, `end`. */
function backwardExtent(size: Dim, givenStart: Dim, givenEnd: Dim): Dim {
  const start = boundOf(givenStart);
  const last = subDims(size, 1);
  const first =
    start.from === "start" ? minDims(start.distance, last) : minDims(subDims(size, start.distance), last);
  // The smallest INT32 or INT64 stops before the first element.
  if (typeof givenEnd === "number" && givenEnd <= -beyondEveryAxis) return addDims(first, 1);
  const end = boundOf(givenEnd);
  const stop = end.from === "start" ? end.distance : subDims(size, end.distance);
  return subDims(first, stop);
}
