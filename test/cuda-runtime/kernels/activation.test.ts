/**
 * @file The bounds that common/activation.cuh states for sigmoidOf and geluForHalf: the formulas in FP32, with the special function
 * unit's instructions as far off as they may be (ex2.approx by 2 ulp, rcp.approx by 1, as the PTX manual says).
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { maxOf } from "../../../src/ir/lists.ts";

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

/** Φ(-s), s >= 0: by its power series where that keeps digits, else by the continued fraction. */
function tailOf(s: number): number {
  const density = Math.exp((-s * s) / 2) / Math.sqrt(2 * Math.PI);
  if (s < 3) {
    let [term, sum] = [s, s];
    for (let k = 3; k < 120; k += 2) {
      term *= (s * s) / k;
      sum += term;
    }
    return 0.5 - density * sum;
  }
  let below = s;
  for (let k = 300; k > 0; k--) below = s + k / below;
  return density / below;
}

function rightGelu(x: number): number {
  const tail = tailOf(Math.abs(x));
  return x < 0 ? x * tail : x * (1 - tail);
}

/** Of the polynomial in the source, the highest power first. */
function coefficients(): number[] {
  const url = new URL("../../../cuda-runtime/kernels/common/activation.cuh", import.meta.url);
  const body = readFileSync(url, "utf8").split("float geluForHalf(float x) {")[1]?.split("}")[0] ?? "";
  const [first, ...others] = body.split("float power =")[1]?.split(";") ?? [];
  const numbers = [
    first ?? "",
    ...others.filter((line) => line.includes("fmaf(power")).map((line) => line.split("size,")[1] ?? ""),
  ];
  return numbers.map((text) => fround(Number.parseFloat(text)));
}

const powers = coefficients();

function geluForHalf(x: number, ofEx2: number): number {
  const size = Math.min(Math.abs(x), 100);
  const exponent = powers.reduce((sum, power) => fround(sum * size + power), 0);
  return fround(Math.max(x, 0) - size * off(fround(2 ** exponent), ofEx2));
}

function halfOf(bits: number): number {
  const [sign, exponent, fraction] = [bits >> 15, (bits >> 10) & 31, bits & 1023];
  const size = exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25);
  return sign === 1 ? -size : size;
}

/** Of a float with so many digits and such a least exponent, the last place at x. */
function placeOf(x: number, digits: number, least: number): number {
  return 2 ** (Math.max(Math.floor(Math.log2(Math.abs(x))), least) - digits + 1);
}

/** As common/activation.cuh has it; fused multiply-adds round once. */
function tanhForHalf(x: number, ofEx2: number, ofRcp: number): number {
  const square = fround(x * x);
  const fused = (a: number, b: number, c: number) => fround(a * b + c);
  const series = fused(square, fused(square, -0.053968254, 0.13333333), -0.33333333);
  return square < 0.0625
    ? fused(fround(x * square), series, x)
    : fused(2, sigmoidOf(fround(2 * x), ofEx2, ofRcp), -1);
}

describe("tanh that is rounded to halves", () => {
  const places = Array.from({ length: 100_001 }, (_, i) => fround(-10 + i / 5_000)).filter((x) => x !== 0);
  const small = Array.from({ length: 4_000 }, (_, i) => fround(2 ** (-24 + i / 160)));
  const errors = (of: (x: number, got: number) => number) =>
    maxOf(
      ulpsOff.ex2.flatMap((ofEx2) =>
        ulpsOff.rcp.flatMap((ofRcp) => [...places, ...small].map((x) => of(x, tanhForHalf(x, ofEx2, ofRcp)))),
      ),
    );

  it("is off by a hundredth of a last place at most, relatively by 4e-6", () => {
    expect(errors((x, got) => Math.abs(got - Math.tanh(x)) / placeOf(Math.tanh(x), 11, -14))).toBeLessThan(
      0.01,
    );
    expect(errors((x, got) => Math.abs(got / Math.tanh(x) - 1))).toBeLessThan(4e-6);
  });

  it("goes to its limits, and keeps NaN", () => {
    expect([-Infinity, -50, Infinity, 50].map((x) => tanhForHalf(x, 0, 0))).toEqual([-1, -1, 1, 1]);
    expect(tanhForHalf(Number.NaN, 0, 0)).toBeNaN();
  });
});

describe("GELU that is rounded to halves", () => {
  const finite = Array.from({ length: 65_536 }, (_, bits) => bits).filter(
    (bits) => ((bits >> 10) & 31) !== 31,
  );
  const halves = finite.map(halfOf).filter((x) => x !== 0);
  const floats = Array.from({ length: 100_001 }, (_, i) => fround(-10 + i / 5_000)).filter((x) => x !== 0);
  const worst = (places: readonly number[], error: (x: number, got: number) => number) =>
    maxOf([-2, 0, 2].flatMap((ofEx2) => places.map((x) => error(x, geluForHalf(x, ofEx2)))));

  it("has a coefficient for each power up to the seventh", () => {
    expect(powers).toHaveLength(8);
    expect(powers.every((power) => Number.isFinite(power))).toBe(true);
  });

  it("is off by a hundredth of a last place at most, before it is rounded to FP16 or BF16", () => {
    for (const places of [halves, floats]) {
      const right = new Map(places.map((x) => [x, rightGelu(x)]));
      const inPlaces = (digits: number, least: number) => (x: number, got: number) => {
        const wanted = right.get(x) ?? Number.NaN;
        return Math.abs(got - wanted) / placeOf(wanted, digits, least);
      };
      expect(worst(places, inPlaces(11, -14))).toBeLessThan(0.01);
      // Of BF16, down to where a last place is far below what anybody sees.
      expect(worst(places, inPlaces(8, -36))).toBeLessThan(0.01);
    }
  });

  it("keeps its digits where x is negative", () => {
    const off = (least: number, x: number, got: number) =>
      x >= least ? Math.abs(got / rightGelu(x) - 1) : 0;
    const negative = floats.filter((x) => x < 0);
    expect(worst(negative, (x, got) => off(-4, x, got))).toBeLessThan(6e-6);
    expect(worst(negative, (x, got) => off(-7, x, got))).toBeLessThan(4e-5);
    expect(
      worst(
        negative.filter((x) => x < -7),
        (x, got) => Math.abs(got - rightGelu(x)),
      ),
    ).toBeLessThan(1e-12);
  });

  it("goes to its limits", () => {
    const ends = [-Infinity, -3e38, -200, 200, 3e38, Infinity].map((x) => geluForHalf(x, 0));
    expect(ends).toEqual([-0, -0, -0, 200, fround(3e38), Infinity].map((x) => (x === 0 ? 0 : x)));
  });
});
