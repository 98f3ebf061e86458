import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { intervalOf, isEqual, isLess } from "../../src/ir/bounds.ts";
import {
  addDims,
  type Dim,
  evaluateDim,
  floorDivDims,
  maxDims,
  minDims,
  mulDims,
  subDims,
  symbol,
  unknownDim,
} from "../../src/ir/dim.ts";

const N = symbol("N");
const M = symbol("M");

/** Sums, products, quotients, maxima and minima of N, M and small numbers. */
const { expression } = fc.letrec<{ expression: Dim }>((tie) => ({
  expression: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.integer({ min: -4, max: 6 }),
    fc.constantFrom<Dim>(N, M),
    fc
      .tuple(
        fc.constantFrom(addDims, subDims, mulDims, maxDims, minDims),
        tie("expression"),
        tie("expression"),
      )
      .map(([operation, a, b]) => operation(a, b)),
    fc.tuple(tie("expression"), fc.integer({ min: 1, max: 5 })).map(([a, b]) => floorDivDims(a, b)),
  ),
}));
const sizes = fc.record({ N: fc.integer({ min: 0, max: 9 }), M: fc.integer({ min: 0, max: 9 }) });

function valueAt(dim: Dim, at: { N: number; M: number }): number {
  const value = evaluateDim(dim, new Map(Object.entries(at)));
  // Expressions too large to keep have become unknown: nothing to compare.
  fc.pre(value !== undefined);
  return value;
}

describe("for every size of the symbols", () => {
  test("the value lies in the interval", () => {
    fc.assert(
      fc.property(expression, sizes, (dim, at) => {
        const value = valueAt(dim, at);
        const { low, high } = intervalOf(dim);
        expect(low).toBeLessThanOrEqual(value);
        expect(high).toBeGreaterThanOrEqual(value);
      }),
      { numRuns: 2000 },
    );
  });

  test("what is decided is true", () => {
    fc.assert(
      fc.property(expression, expression, sizes, (a, b, at) => {
        const [x, y] = [valueAt(a, at), valueAt(b, at)];
        expect([undefined, x < y]).toContain(isLess(a, b));
        expect([undefined, x === y]).toContain(isEqual(a, b));
      }),
      { numRuns: 2000 },
    );
  });
});

test("what can be decided is", () => {
  expect(isEqual(N, -1)).toBe(false);
  expect(isEqual(N, 0)).toBeUndefined();
  expect(isLess(N, addDims(N, 1))).toBe(true);
  expect(isLess(N, N)).toBe(false);
  expect(isLess(N, M)).toBeUndefined();
  expect(isLess(N, -Infinity)).toBe(false);
  expect(isLess(minDims(N, 4), 5)).toBe(true);
  expect(isLess(floorDivDims(addDims(N, 7), 2), 3)).toBe(false);
  expect(isEqual(unknownDim(), -1)).toBeUndefined();
  expect(intervalOf(addDims(N, -1), 1)).toEqual({ low: 0, high: Infinity });
});
