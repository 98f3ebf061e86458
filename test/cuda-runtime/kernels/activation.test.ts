/**
 * @file The bounds that common/activation.cuh states for sigmoidOf: its formula in FP32, with the special function unit's instructions
 * as far off as they may be (ex2.approx by 2 ulp, rcp.approx by 1, as the PTX manual says).
 */
import { describe, expect, it } from "vitest";

const { fround } = Math;
const ulpsOff = { ex2: [-2, 0, 2], rcp: [-1, 0, 1] } as const;
const leastNormal = 2 ** -126;

/** `ulps` units of the last place away; as .ftz has it. */
function off(x: number, ulps: number): number {
  if (!Number.isFinite(x) || x === 0) return x;
  const ulp = 2 ** (Math.floor(Math.log2(Math.abs(x))) - 23);
  const y = fround(x + ulps * ulp);
  return Math.abs(y) < leastNormal ? 0 : y;
}

function sigmoidOf(x: number, ofEx2: number, ofRcp: number): number {
  const power = off(fround(2 ** fround(fround(-Math.LOG2E) * x)), ofEx2);
  return off(fround(1 / fround(1 + power)), ofRcp);
}

/** The largest of all ways that the instructions may be off. */
function errorAt(x: number): number {
  const right = 1 / (1 + Math.exp(-x));
  const errors = ulpsOff.ex2.flatMap((ofEx2) =>
    ulpsOff.rcp.map((ofRcp) => Math.abs(sigmoidOf(x, ofEx2, ofRcp) / right - 1)),
  );
  return Math.max(...errors);
}

describe("sigmoid of FP32", () => {
  const places = Array.from({ length: 40_001 }, (_, i) => fround(-87 + (i * 187) / 40_000));

  it("is relatively within 5e-7 + 9e-8 |x| below 0, and within 4e-7 from there on", () => {
    const bound = (x: number) => (x < 0 ? 5e-7 + 9e-8 * -x : 4e-7);
    expect(places.filter((x) => !(errorAt(x) <= bound(x)))).toEqual([]);
  });

  it("goes to its limits, and keeps NaN", () => {
    expect([-Infinity, -3e38, -100, Infinity, 3e38].map((x) => sigmoidOf(x, 0, 0))).toEqual([0, 0, 0, 1, 1]);
    expect(sigmoidOf(Number.NaN, 0, 0)).toBeNaN();
  });
});
