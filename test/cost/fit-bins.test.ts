/** @file How a fit's forests see a feature: as bins, whose edges lie where its values are. */
import { describe, expect, test } from "vitest";
import { binned } from "../../scripts/fit/bins.ts";

const thresholdsOf = (values: readonly number[], bins: number) => [
  ...(binned(
    values.map((value) => [value]),
    bins,
  ).thresholds[0] ?? []),
];

describe("thresholds of a feature", () => {
  test("lie between all values where these are few", () => {
    expect(thresholdsOf([3, 1, 1, 2, 1], 8)).toEqual([1.5, 2.5]);
  });

  // Sizes of channels: a thousand of them, and half of all rows at a dozen.
  test("divide many values, also those that most rows share", () => {
    const popular = [64, 96, 128, 192, 256, 384, 512, 768];
    const sizes = Array.from({ length: 4000 }, (_, index) => {
      return index % 2 === 0 ? (popular[(index / 2) % popular.length] ?? 0) : 3 + (index % 1301);
    });
    const thresholds = thresholdsOf(sizes, 64);
    expect(thresholds.length).toBeGreaterThan(50);
    expect(thresholds.length).toBeLessThan(64);
    expect(thresholds).toEqual(thresholds.toSorted((a, b) => a - b));
    for (const size of popular) {
      const around = thresholds.filter((threshold) => Math.abs(threshold - size) < 6);
      expect(around.length, String(size)).toBeGreaterThan(0);
    }
  });

  test("hold about as many rows each where no value repeats", () => {
    const { bins, rows } = binned(
      Array.from({ length: 1000 }, (_, index) => [(index * 617) % 1000]),
      10,
    );
    const counts = Array.from({ length: 10 }, (_, bin) => bins.filter((each) => each === bin).length);
    expect(counts.every((count) => Math.abs(count - rows / 10) <= 2)).toBe(true);
  });

  test("of one value are none", () => {
    expect(thresholdsOf([5, 5, 5], 64)).toEqual([]);
  });
});
