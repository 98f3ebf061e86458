/** The algorithms of emitted functions, on JavaScript's numbers, against Math and BigInt. */
import { describe, expect, it } from "vitest";
import { erfValue, unaryValue } from "../../../cuda-runtime/ir/expr-value.ts";
import { power, remainder } from "../../../cuda-runtime/ptx/math-more.ts";
import { floatFunctions } from "../../../cuda-runtime/ptx/operations.ts";
import { numberMachine } from "./number-machine.ts";

type Name = keyof typeof floatFunctions;

/** Of results: largest relative error, where they are not below `absolute`. */
interface Bound {
  readonly from: number;
  readonly to: number;
  readonly f32: number;
  readonly f64: number;
  /** The error that counts as none: near zeros of the function that are no zeros of x. */
  readonly absolute?: number;
}

const bounds: Readonly<Partial<Record<Name, Bound>>> = {
  exp: { from: -87, to: 88.7, f32: 4e-7, f64: 1e-15 },
  log: { from: 1e-38, to: 1e38, f32: 2e-7, f64: 5e-16 },
  sin: { from: -1e4, to: 1e4, f32: 3e-7, f64: 1e-13, absolute: 1e-7 },
  cos: { from: -1e4, to: 1e4, f32: 3e-7, f64: 1e-13, absolute: 1e-7 },
  tan: { from: -1.5, to: 1.5, f32: 6e-7, f64: 1e-14 },
  asin: { from: -1, to: 1, f32: 6e-7, f64: 2e-15 },
  acos: { from: -0.999, to: 0.999, f32: 6e-7, f64: 2e-15 },
  atan: { from: -1e3, to: 1e3, f32: 4e-7, f64: 1e-15 },
  sinh: { from: -85, to: 85, f32: 8e-7, f64: 2e-15 },
  cosh: { from: -85, to: 85, f32: 8e-7, f64: 2e-15 },
  tanh: { from: -20, to: 20, f32: 6e-7, f64: 2e-15 },
  asinh: { from: -1e6, to: 1e6, f32: 8e-7, f64: 2e-15 },
  acosh: { from: 1.001, to: 1e6, f32: 8e-7, f64: 2e-15 },
  atanh: { from: -0.9999, to: 0.9999, f32: 8e-7, f64: 2e-15 },
  erf: { from: -6, to: 6, f32: 6e-7, f64: 1e-14 },
  sigmoid: { from: -80, to: 80, f32: 8e-7, f64: 2e-15 },
};

/** Evenly spaced, and by magnitude, so that small numbers are among them. */
function samples({ from, to }: Bound): number[] {
  const even = Array.from({ length: 4001 }, (_, i) => from + ((to - from) * i) / 4000);
  const small = Array.from({ length: 400 }, (_, i) => 10 ** (-i / 20)).flatMap((x) => [x, -x]);
  const wide = Array.from({ length: 700 }, (_, i) => 10 ** (i / 20)).flatMap((x) => [x, -x]);
  return [...even, ...small, ...wide].filter((x) => x >= from && x <= to);
}

function reference(name: Name, x: number): number {
  return name === "erf" ? erfValue(x) : unaryValue(name, "f64", x);
}

const names = Object.keys(bounds) as Name[];

describe.each(names)("%s", (name) => {
  const bound = bounds[name];
  if (bound === undefined) return;

  it.each([-1, 0, 1] as const)("is exact enough in 32 bits, 2^x off by %i units", (sign) => {
    const machine = numberMachine(32, sign);
    for (const sample of samples(bound)) {
      const x = Math.fround(sample);
      const expected = reference(name, x);
      const error = Math.abs(floatFunctions[name](machine, x) - expected) - (bound.absolute ?? 0);
      if (!(error <= bound.f32 * Math.abs(expected) + 2 ** -149)) {
        expect.fail(`${name}(${x}): ${floatFunctions[name](machine, x)}, expected ${expected}`);
      }
    }
  });

  it("is exact enough in 64 bits", () => {
    const machine = numberMachine(64);
    for (const x of samples(bound)) {
      const expected = reference(name, x);
      const error = Math.abs(floatFunctions[name](machine, x) - expected) - (bound.absolute ?? 0) * 1e-8;
      if (!(error <= bound.f64 * Math.abs(expected))) {
        expect.fail(`${name}(${x}): ${floatFunctions[name](machine, x)}, expected ${expected}`);
      }
    }
  });
});

const specials = [
  0,
  -0,
  1,
  -1,
  0.5,
  2,
  -2,
  1e-40,
  -1e-40,
  1e-45,
  3e38,
  -3e38,
  1e30,
  88.8,
  -104,
  1e10,
  123456789,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  Number.NaN,
];

describe("special values", () => {
  it.each(Object.keys(floatFunctions) as Name[])("%s", (name) => {
    for (const bits of [32, 64] as const) {
      for (const sample of specials) {
        const x = bits === 32 ? Math.fround(sample) : sample;
        const expected = bits === 32 ? Math.fround(reference(name, x)) : reference(name, x);
        const actual = floatFunctions[name](numberMachine(bits), x);
        // Angles beyond 2^52 are reduced by a table of doubles.
        const isHuge = Math.abs(x) > 2 ** 52;
        const tolerance = bits === 32 ? 1e-6 : isHuge ? 5e-7 : 1e-12;
        const isClose =
          Math.abs(actual - expected) <= tolerance * Math.abs(expected) + 2 ** -148 + tolerance / 4;
        // Zeros compare equal whatever their sign.
        if (!(actual === expected || Object.is(actual, expected) || isClose)) {
          expect.fail(`${bits} bits: ${name}(${x}) is ${actual}, expected ${expected}`);
        }
      }
    }
  });
});

/** C's pow differs from JavaScript's ** where the base is ±1. */
function powerReference(base: number, exponent: number): number {
  if (base === 1 || (base === -1 && Math.abs(exponent) === Number.POSITIVE_INFINITY)) return 1;
  return base ** exponent;
}

describe("power", () => {
  const bases = [
    0,
    -0,
    1,
    -1,
    2,
    -2,
    3,
    0.5,
    -0.5,
    10,
    1.0001,
    0.9999,
    7.25,
    1e-30,
    1e30,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    Number.NaN,
  ];
  const exponents = [
    0,
    1,
    -1,
    2,
    3,
    -3,
    0.5,
    -0.5,
    1.5,
    2.5,
    10,
    21,
    100,
    -100,
    1e10,
    1001,
    1 / 3,
    Number.POSITIVE_INFINITY,
    Number.NEGATIVE_INFINITY,
    Number.NaN,
  ];

  it.each([32, 64] as const)("is C's pow in %i bits", (bits) => {
    const round = bits === 32 ? Math.fround : (x: number) => x;
    for (const base of bases.map(round)) {
      for (const exponent of exponents.map(round)) {
        const expected = round(powerReference(base, exponent));
        const actual = power(numberMachine(bits), base, exponent);
        const tolerance = bits === 32 ? 5e-7 : 3e-14;
        const isClose = Math.abs(actual - expected) <= tolerance * Math.abs(expected) + 2 ** -148;
        if (!(Object.is(actual, expected) || isClose || (actual === 0 && expected === 0))) {
          expect.fail(`${base} ** ${exponent} is ${actual}, expected ${expected}`);
        }
      }
    }
  });

  it("gives whole results exactly", () => {
    for (const [bits, limit] of [
      [32, 2 ** 20],
      [64, 2 ** 44],
    ] as const) {
      for (let base = -50; base <= 50; base++) {
        for (let exponent = 0; Math.abs(base ** exponent) < limit && exponent < 30; exponent++) {
          expect(power(numberMachine(bits), base, exponent)).toBe(base ** exponent);
        }
      }
    }
  });
});

describe("remainder", () => {
  const values = [
    0,
    1,
    -1,
    2.5,
    -7.25,
    1e-3,
    1e10,
    -1e20,
    3e38,
    1e-38,
    1e-44,
    16777216,
    0.1,
    Number.POSITIVE_INFINITY,
    Number.NaN,
  ];

  it.each([32, 64] as const)("is exact in %i bits", (bits) => {
    const round = bits === 32 ? Math.fround : (x: number) => x;
    for (const a of values.map(round)) {
      for (const b of values.map(round)) {
        const actual = remainder(numberMachine(bits), a, b);
        const expected = a % b;
        if (!(actual === expected || (Number.isNaN(actual) && Number.isNaN(expected)))) {
          expect.fail(`${a} % ${b} is ${actual}, expected ${expected}`);
        }
      }
    }
  });
});
