/** @file The larger and the smaller of two elements, symbols included. */
import { isLess } from "../../ir/bounds.ts";
import { type Dim, isUnknown, maxDims, minDims, unknownDim } from "../../ir/dim.ts";

/** A symbol, a sum of symbols, or a whole number: what arithmetic on dims is exact for. */
export function isWhole(value: Dim): boolean {
  return typeof value !== "number" || Number.isSafeInteger(value);
}

/** NaN where one is NaN. */
export function largerOf(a: Dim, b: Dim): Dim {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number.NaN;
  return notLess(a, b) ?? (canStaySymbolic(a, b) ? maxDims(a, b) : unknownDim());
}

/** NaN where one is NaN. */
export function smallerOf(a: Dim, b: Dim): Dim {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number.NaN;
  const larger = notLess(a, b);
  if (larger !== undefined) return larger === a ? b : a;
  return canStaySymbolic(a, b) ? minDims(a, b) : unknownDim();
}

/** The one that is at least the other for every size of the symbols. */
function notLess(a: Dim, b: Dim): Dim | undefined {
  if (isLess(a, b) === false || isLess(b, a) === true) return a;
  if (isLess(b, a) === false || isLess(a, b) === true) return b;
  return undefined;
}

function canStaySymbolic(a: Dim, b: Dim): boolean {
  return isWhole(a) && isWhole(b) && !isUnknown(a) && !isUnknown(b);
}
