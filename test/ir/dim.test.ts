import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  addDims,
  ceilDivDims,
  type Dim,
  evaluateDim,
  floorDivDims,
  isUnknown,
  maxDims,
  minDims,
  mulDims,
  product,
  subDims,
  symbol,
  unknownDim,
} from "../../src/ir/dim.ts";

const n = symbol("N");
const s = symbol("S");

interface Expression {
  readonly dim: Dim;
  readonly value: (n: number, s: number) => number;
}

const { expression } = fc.letrec<{ expression: Expression }>((tie) => {
  const leaf: fc.Arbitrary<Expression> = fc.oneof(
    fc.constant({ dim: n, value: (size: number) => size }),
    fc.constant({ dim: s, value: (_: number, size: number) => size }),
    fc.integer({ min: -9, max: 9 }).map((number) => ({ dim: number, value: () => number })),
  );
  const pair = (
    join: (a: Dim, b: Dim) => Dim,
    compute: (a: number, b: number) => number,
    right = tie("expression"),
  ) =>
    fc.tuple(tie("expression"), right).map(([a, b]) => ({
      dim: join(a.dim, b.dim),
      value: (x: number, y: number) => compute(a.value(x, y), b.value(x, y)),
    }));
  const divisor = fc.integer({ min: 1, max: 6 }).map((number) => ({ dim: number, value: () => number }));
  return {
    expression: fc.oneof(
      { maxDepth: 5 },
      leaf,
      pair(addDims, (a, b) => a + b),
      pair(subDims, (a, b) => a - b),
      pair(mulDims, (a, b) => a * b),
      pair(maxDims, Math.max),
      pair(minDims, Math.min),
      pair(floorDivDims, (a, b) => Math.floor(a / b), divisor),
      pair(ceilDivDims, (a, b) => Math.ceil(a / b), divisor),
    ),
  };
});

test("an expression evaluates to what its parts compute, for every size", () => {
  const size = fc.integer({ min: 0, max: 40 });
  let evaluated = 0;
  fc.assert(
    fc.property(expression, size, size, ({ dim, value }, x, y) => {
      if (isUnknown(dim)) return;
      const got = evaluateDim(
        dim,
        new Map([
          ["N", x],
          ["S", y],
        ]),
      );
      // Numbers beyond 2^53 are given up, never rounded.
      if (got === undefined && !Number.isSafeInteger(value(x, y) * 1e6)) return;
      expect(got === undefined ? undefined : got + 0).toBe(value(x, y) + 0);
      evaluated++;
    }),
    { numRuns: 3000 },
  );
  expect(evaluated).toBeGreaterThan(2000);
});

test("a product is what its factors are one after another, in the same form", () => {
  fc.assert(
    fc.property(fc.array(expression, { maxLength: 5 }), (factors) => {
      const dims = factors.map(({ dim }) => dim);
      const expected = dims.reduce<Dim>((whole, dim) => mulDims(whole, dim), 1);
      const found = product(dims);
      if (isUnknown(expected) || isUnknown(found)) return;
      expect(String(found)).toBe(String(expected));
    }),
  );
});

describe("one form for equal sizes", () => {
  const half = floorDivDims(n, 2);
  test.each<[string, Dim, Dim]>([
    ["what divides goes out", floorDivDims(addDims(mulDims(n, 2), 5), 2), addDims(n, 2)],
    ["rounding that cannot matter", ceilDivDims(mulDims(n, 8), 8), n],
    [
      "common factors",
      floorDivDims(addDims(mulDims(n, 4), 2), 6),
      floorDivDims(addDims(mulDims(n, 2), 1), 3),
    ],
    ["nested divisions", floorDivDims(half, 2), floorDivDims(n, 4)],
    ["rounding up twice", ceilDivDims(ceilDivDims(n, 2), 2), ceilDivDims(n, 4)],
    ["two spellings of a strided size", addDims(floorDivDims(subDims(n, 1), 2), 1), ceilDivDims(n, 2)],
    ["max of sizes in order", maxDims(n, addDims(n, 3)), addDims(n, 3)],
    ["min of sizes in order", minDims(mulDims(n, 2), n), n],
    ["max with zero", maxDims(n, 0), n],
    ["absorption", maxDims(s, minDims(n, s)), s],
    ["absorption of the same kind", minDims(minDims(n, s), s), minDims(s, n)],
  ])("%s", (_, a, b) => {
    expect(String(a)).toBe(String(b));
  });

  test("an unknown may be negative", () => {
    expect(isUnknown(maxDims(unknownDim(), 0))).toBe(true);
    expect(maxDims(unknownDim(), 0)).not.toBe(0);
  });
});
