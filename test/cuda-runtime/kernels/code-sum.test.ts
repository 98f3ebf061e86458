/** @file Sums of two codes' numbers as codes: what two factors give is what a graph's four roundings do, for every pair of codes. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type CodeSum,
  type SummedCodes,
  sumOfCodes,
} from "../../../cuda-runtime/kernels/gemm-int8/code-sum.ts";
import { type CodeNumbers, codeRange } from "../../../cuda-runtime/kernels/gemm-int8/codes.ts";

const { fround } = Math;
const scale = fc.double({ min: 0.2, max: 2, noNaN: true });
const type = fc.constantFrom<CodeNumbers["type"]>("int8", "uint8");
const zeroOf = (of: CodeNumbers["type"], share: number) => {
  const [least, most] = codeRange(of);
  return least + Math.round(share * (most - least));
};
const numbers = fc
  .record({ type, scale, share: fc.double({ min: 0, max: 1, noNaN: true }) })
  .map(({ type: of, scale: size, share }) => ({
    type: of,
    scale: fround(0.03 * size),
    zero: zeroOf(of, share),
  }));
const summed: fc.Arbitrary<SummedCodes> = fc.record({
  own: numbers,
  other: numbers,
  to: numbers,
  hasRelu: fc.boolean(),
});

/** ONNX's DequantizeLinear twice, Add, Relu, QuantizeLinear, in floats. */
function byGraph({ own, other, to, hasRelu }: SummedCodes, a: number, b: number): number {
  const sum = fround(fround((a - own.zero) * own.scale) + fround((b - other.zero) * other.scale));
  const quotient = fround((hasRelu ? Math.max(sum, 0) : sum) / to.scale);
  const below = Math.floor(quotient);
  const isTie = quotient - below === 0.5;
  const rounded = isTie ? below + (Math.abs(below) % 2) : Math.round(quotient);
  const [least, most] = codeRange(to.type);
  return Math.min(Math.max(rounded + to.zero, least), most);
}

/** A multiplication, and one whose product an addend joins before it is rounded; bounds; a sum without a fraction. */
function byFactors({ own, other }: SummedCodes, sum: CodeSum, a: number, b: number): number {
  const scaled = fround((a - own.zero) * sum.own + fround((b - other.zero) * sum.other));
  const bounded = Math.min(Math.max(scaled, sum.low), sum.high);
  return fround(bounded + sum.whole) - 3 * 2 ** 22;
}

describe("sums of codes", () => {
  test("are the graph's for every pair", () => {
    fc.assert(
      fc.property(summed, (codes) => {
        const sum = sumOfCodes(codes);
        if (sum === undefined) return;
        const [[first], [second]] = [codeRange(codes.own.type), codeRange(codes.other.type)];
        for (let a = first; a < first + 256; a++)
          for (let b = second; b < second + 256; b++)
            if (byFactors(codes, sum, a, b) !== byGraph(codes, a, b)) throw new Error(`${a}, ${b}`);
      }),
      { numRuns: 30 },
    );
  });

  test("have their factors nearly always", () => {
    const drawn = fc.sample(summed, { numRuns: 60, seed: 7 });
    expect(drawn.filter((codes) => sumOfCodes(codes) === undefined).length).toBeLessThanOrEqual(3);
  });

  test("have none where one code's step is nothing beside the other's", () => {
    const of = (size: number): CodeNumbers => ({ type: "int8", scale: size, zero: 0 });
    expect(sumOfCodes({ own: of(1), other: of(1e-6), to: of(1), hasRelu: false })).toBeUndefined();
    expect(sumOfCodes({ own: of(1), other: of(Number.NaN), to: of(1), hasRelu: false })).toBeUndefined();
  });
});
