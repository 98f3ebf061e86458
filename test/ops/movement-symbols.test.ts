/** @file What is inferred for a symbol, against every size it stands for. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { addDims, type Dim, evaluateDim, isUnknown, mulDims, symbol } from "../../src/ir/dim.ts";
import type { Fact } from "../../src/ops/op.ts";
import { tensor } from "../../src/ops/shape.ts";
import { type ContextOptions, infer, inferTensor } from "./context.ts";
import { float, ints } from "./tensors.ts";

/** Sizes, and elements where both have them, with N = k. */
function atSize(facts: readonly (Fact | undefined)[], k: number): unknown {
  const value = (dim: Dim) => evaluateDim(dim, new Map([["N", k]]));
  return facts.map((fact) =>
    fact?.kind === "tensor"
      ? { dtype: fact.dtype, shape: fact.shape?.map(value), elements: fact.elements?.map(value) }
      : fact,
  );
}

describe("what is inferred for N holds for every size", () => {
  const scales = tensor("float32", [2], [0.5, 1.25]);
  const cases: readonly [string, (n: Dim) => ContextOptions][] = [
    ["Shape", (n) => ({ type: "Shape", inputs: [float(n, 3, mulDims(n, n))] })],
    ["Size", (n) => ({ type: "Size", inputs: [float(n, 3, n)] })],
    ["Reshape to -1", (n) => ({ type: "Reshape", inputs: [float(n, 4, 6), ints(-1, 8)] })],
    ["Reshape of a sum", (n) => ({ type: "Reshape", inputs: [float(addDims(n, 1), n, 2), ints(n, 2, -1)] })],
    ["Flatten", (n) => ({ type: "Flatten", inputs: [float(2, n, 3)], attributes: { axis: 2 } })],
    ["Unsqueeze", (n) => ({ type: "Unsqueeze", inputs: [ints(n, 2), ints(0)] })],
    ["Transpose", (n) => ({ type: "Transpose", inputs: [float(n, 3, 5)], attributes: { perm: [2, 0, 1] } })],
    ["Concat", (n) => ({ type: "Concat", inputs: [float(n, 2), float(3, 2)], attributes: { axis: 0 } })],
    ["Concat of sizes", (n) => ({ type: "Concat", inputs: [ints(n), ints(1, 2)], attributes: { axis: 0 } })],
    [
      "uneven Split",
      (n) => ({
        type: "Split",
        inputs: [float(mulDims(n, 3))],
        attributes: { num_outputs: 2 },
        outputCount: 2,
      }),
    ],
    ["Gather", (n) => ({ type: "Gather", inputs: [ints(4, n), ints(1, 0)] })],
    ["Pad", (n) => ({ type: "Pad", inputs: [float(n, 2), ints(1, n, 2, 0)] })],
    ["Expand", (n) => ({ type: "Expand", inputs: [float(1, 2), ints(n, 2)] })],
    ["Tile", (n) => ({ type: "Tile", inputs: [float(n, 2), ints(3, n)] })],
    [
      "Range",
      (n) => ({
        type: "Range",
        inputs: [1, addDims(mulDims(n, 2), 3), 2].map((end) => tensor("int64", [], [end])),
      }),
    ],
    ["Resize", (n) => ({ type: "Resize", inputs: [float(n, n), undefined, scales] })],
    [
      "SpaceToDepth",
      (n) => ({
        type: "SpaceToDepth",
        inputs: [float(1, 1, mulDims(n, 2), 4)],
        attributes: { blocksize: 2 },
      }),
    ],
    ["OneHot", (n) => ({ type: "OneHot", inputs: [float(2), ints(n), float(2)] })],
  ];

  test.each(cases)("%s", (_, options) => {
    const symbolic = infer(options(symbol("N")));
    for (let k = 1; k <= 12; k++) {
      const concrete = infer(options(k));
      const strip = (fact: Fact | undefined) =>
        fact?.kind === "tensor" ? { ...fact, elements: undefined } : fact;
      // A concrete size may fold where a symbolic one cannot; where both do they agree.
      const both = symbolic.every((fact, at) => {
        const other = concrete[at];
        return fact?.kind === "tensor" && fact.elements && other?.kind === "tensor" && other.elements;
      });
      expect(atSize(both ? symbolic : symbolic.map(strip), k)).toEqual(
        atSize(both ? concrete : concrete.map(strip), k),
      );
    }
  });

  test("Slice of N, wherever it keeps something", () => {
    const bound = fc.oneof(
      fc.integer({ min: -6, max: 6 }).map((offset) => ({ from: 0, offset })),
      fc.integer({ min: 0, max: 4 }).map((offset) => ({ from: 1, offset: -offset })),
      fc.constantFrom({ from: 0, offset: 2 ** 63 }, { from: 0, offset: -(2 ** 63) }),
    );
    let compared = 0;
    fc.assert(
      fc.property(
        bound,
        bound,
        fc.constantFrom(-2, -1, 1, 2, 3),
        fc.integer({ min: 1, max: 12 }),
        (start, end, step, k) => {
          const kept = (n: Dim) => {
            const place = ({ from, offset }: { from: number; offset: number }) =>
              from === 0 ? offset : addDims(n, offset);
            return inferTensor({
              type: "Slice",
              inputs: [float(n), ints(place(start)), ints(place(end)), ints(0), ints(step)],
            }).shape?.[0];
          };
          const concrete = kept(k);
          const isInside = [start, end].every(({ from, offset }) =>
            from === 1 ? k + offset > 0 : offset >= 0 ? true : k + offset >= 0 || offset < -100,
          );
          if (concrete === 0 || !isInside) return;
          const symbolic = kept(symbol("N"));
          if (symbolic === undefined || isUnknown(symbolic))
            throw new Error(`unknown for ${start.offset}:${end.offset}`);
          expect(evaluateDim(symbolic, new Map([["N", k]]))).toBe(concrete);
          compared++;
        },
      ),
      { numRuns: 3000 },
    );
    expect(compared).toBeGreaterThan(500);
  });
});
