/** @file What a dim can be, whatever the sizes its symbols stand for: enough to decide comparisons of sizes. */
import { type Dim, sameDim, subDims } from "./dim.ts";
import { maxOf, minOf } from "./lists.ts";

/** Both ends included; infinite where nothing is known. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}

const anything: Interval = { low: -Infinity, high: Infinity };

/** @param smallestSymbol A size is at least 0; pass 1 where an empty axis need not be told apart. */
export function intervalOf(dim: Dim, smallestSymbol: 0 | 1 = 0): Interval {
  if (typeof dim === "number") return { low: dim, high: dim };
  let sum: Interval = { low: 0, high: 0 };
  for (const { coefficient, atoms } of dim.terms) {
    let term: Interval = { low: coefficient, high: coefficient };
    for (const atom of atoms) term = times(term, atomInterval(atom, smallestSymbol));
    sum = { low: sum.low + term.low, high: sum.high + term.high };
  }
  return sum;
}

type Atom = Exclude<Dim, number>["terms"][number]["atoms"][number];

function atomInterval(atom: Atom, smallestSymbol: 0 | 1): Interval {
  if (atom.kind === "symbol") return { low: smallestSymbol, high: Infinity };
  // May be an element as well as a size, so it may be negative.
  if (atom.kind === "unknown") return anything;
  const a = intervalOf(atom.args[0], smallestSymbol);
  const b = intervalOf(atom.args[1], smallestSymbol);
  switch (atom.kind) {
    case "max":
      return { low: Math.max(a.low, b.low), high: Math.max(a.high, b.high) };
    case "min":
      return { low: Math.min(a.low, b.low), high: Math.min(a.high, b.high) };
    case "floordiv":
      return quotient(a, b);
  }
}

function quotient(a: Interval, b: Interval): Interval {
  if (b.low > 0 && b.low === b.high)
    return { low: Math.floor(a.low / b.low), high: Math.floor(a.high / b.low) };
  // A divisor is never 0, so one that is not negative is at least 1.
  return a.low >= 0 && b.low >= 0 ? { low: 0, high: a.high } : anything;
}

function times(a: Interval, b: Interval): Interval {
  const corners = [a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high].map((corner) =>
    // 0 × ∞: the end that is 0 wins, an infinite end only means "unbounded".
    Number.isNaN(corner) ? 0 : corner,
  );
  return { low: minOf(corners), high: maxOf(corners) };
}

/** Whether a < b, for every size of the symbols; undefined where that depends on them. */
export function isLess(a: Dim, b: Dim): boolean | undefined {
  if (typeof a === "number" && typeof b === "number") return a < b;
  const [x, y] = [intervalOf(a), intervalOf(b)];
  if (x.high < y.low) return true;
  if (x.low >= y.high) return false;
  // What a and b have in common cancels.
  const { low, high } = intervalOf(subDims(a, b));
  if (high < 0) return true;
  return low >= 0 ? false : undefined;
}

/** Whether a = b, for every size of the symbols; undefined where that depends on them. */
export function isEqual(a: Dim, b: Dim): boolean | undefined {
  if (typeof a === "number" && typeof b === "number") return a === b;
  if (sameDim(a, b)) return true;
  const { low, high } = intervalOf(subDims(a, b));
  return low > 0 || high < 0 ? false : undefined;
}
