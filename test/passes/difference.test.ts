import { Tensor } from "onnxruntime-node";
import { describe, expect, it } from "vitest";
import { difference, type Results } from "./folding.ts";

function results(...values: number[]): Results {
  return new Map([["y", new Tensor("float32", Float32Array.from(values), [values.length])]]);
}

describe("difference", () => {
  const infinite = Number.POSITIVE_INFINITY;

  it.each([
    ["equal numbers", [1, -4], [1, -4], 0],
    ["a share of the largest", [1, -4], [1.5, -4], 0.125],
    ["NaN in both places", [Number.NaN, 4], [Number.NaN, 4], 0],
    ["NaN that numbers follow", [1, 2, 4], [Number.NaN, 2, 5], Number.NaN],
    ["NaN that should be there", [4, Number.NaN], [5, 1], Number.NaN],
    ["infinities of one sign", [infinite, 4], [infinite, 4], 0],
    ["a number beside an infinity", [infinite, 4], [infinite, 5], 0.25],
    ["infinities of two signs", [infinite, 4], [-infinite, 4], infinite],
    ["a number for an infinity", [infinite, 4], [3, 4], infinite],
    ["anything but zero for zero", [0, 0], [0, 1e-9], infinite],
  ])("of %s", (_, expected, actual, share) => {
    expect(difference(results(...expected), results(...actual))).toBe(share);
  });
});
