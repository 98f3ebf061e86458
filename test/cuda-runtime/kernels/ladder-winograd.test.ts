import { expect, it } from "vitest";
import { convWorks } from "../../../src/gpu/ladder/conv.ts";
import { maxOf } from "../../../src/ir/lists.ts";

type Matrix = readonly (readonly number[])[];

/** F(2 × 2, 3 × 3), as kernels/ladder/winograd.cuh has it. */
const inputs: Matrix = [
  [1, 0, -1, 0],
  [0, 1, 1, 0],
  [0, -1, 1, 0],
  [0, 1, 0, -1],
];
const filters: Matrix = [
  [1, 0, 0],
  [0.5, 0.5, 0.5],
  [0.5, -0.5, 0.5],
  [0, 0, 1],
];
const outputs: Matrix = [
  [1, 1, 1, 0],
  [0, 1, -1, -1],
];

const identity = (value: number) => value;
/** To eleven bits; of a tie it does not matter which. */
function half(value: number): number {
  const unit = 2 ** (Math.max(-14, Math.floor(Math.log2(Math.abs(value) || 1))) - 10);
  return Math.round(value / unit) * unit;
}

function product(a: Matrix, b: Matrix, round: (value: number) => number): Matrix {
  return a.map((row) =>
    (b[0] ?? []).map((_, column) =>
      row.reduce((sum, factor, k) => (factor === 0 ? sum : round(sum + factor * (b[k]?.[column] ?? 0))), 0),
    ),
  );
}

const transposed = (matrix: Matrix): Matrix =>
  (matrix[0] ?? []).map((_, column) => matrix.map((row) => row[column] ?? 0));

/** t m tᵀ, each sum rounded. */
function transform(t: Matrix, m: Matrix, round: (value: number) => number): Matrix {
  return product(product(t, m, round), transposed(t), round);
}

function random(seed: number) {
  let state = seed;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return half(0.4 * ((state >>> 8) / 2 ** 24) - 0.2);
  };
  return (size: number): Matrix => Array.from({ length: size }, () => Array.from({ length: size }, next));
}

/** Four outputs of as many channels, inputs' transform rounded at each step, the filters' at its end. */
function tile(channels: number, seed: number, round: (value: number) => number) {
  const draw = random(seed);
  const sums = Array.from({ length: 4 }, () => [0, 0, 0, 0]);
  const direct = [0, 0, 0, 0];
  for (let c = 0; c < channels; c++) {
    const [d, g] = [draw(4), draw(3)];
    const v = transform(inputs, d, round);
    const u = transform(filters, g, identity).map((row) => row.map(round));
    for (let at = 0; at < 16; at++) {
      const [r, q] = [at >> 2, at & 3];
      const row = sums[r];
      if (row !== undefined) row[q] = Math.fround((row[q] ?? 0) + (v[r]?.[q] ?? 0) * (u[r]?.[q] ?? 0));
    }
    for (let at = 0; at < 36; at++) {
      const [output, tap] = [Math.floor(at / 9), at % 9];
      const value = d[(output >> 1) + Math.floor(tap / 3)]?.[(output & 1) + (tap % 3)] ?? 0;
      direct[output] = (direct[output] ?? 0) + value * (g[Math.floor(tap / 3)]?.[tap % 3] ?? 0);
    }
  }
  return { winograd: transform(outputs, sums, identity).flat().map(round), direct };
}

it("is the convolution where nothing is rounded", () => {
  const { winograd, direct } = tile(8, 1, identity);
  for (const [at, value] of direct.entries()) expect(winograd[at]).toBeCloseTo(value, 6);
});

it("stays within the ladder's tolerance in halves, with channels of hundreds", () => {
  const allowed = convWorks.flatMap(({ rungs }) =>
    rungs.flatMap(({ name, tolerance }) => (name.startsWith("Winograd") ? [tolerance ?? 0] : [])),
  );
  expect(new Set(allowed)).toEqual(new Set([4e-3]));
  for (const channels of [64, 512]) {
    const tiles = Array.from({ length: 24 }, (_, at) => tile(channels, at + 1, half));
    const largest = maxOf(tiles.flatMap(({ direct }) => direct.map(Math.abs)));
    const errors = tiles.flatMap(({ winograd, direct }) =>
      direct.map((value, at) => Math.abs(value - (winograd[at] ?? Number.NaN)) / largest),
    );
    expect(maxOf(errors)).toBeLessThan(2e-3);
    expect(maxOf(errors)).toBeGreaterThan(1e-4);
  }
});
