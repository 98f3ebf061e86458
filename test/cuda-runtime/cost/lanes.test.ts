/** @file Launches beside each other take between the longest way through them and all one behind another. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type LaneWork, lanesMicroseconds } from "../../../cuda-runtime/cost/lanes.ts";
import { placesOf } from "../../../cuda-runtime/plan/lanes.ts";

const works = fc.array(
  fc.record({
    microseconds: fc.double({ min: 0, max: 40, noNaN: true }),
    share: fc.double({ min: 0.01, max: 1, noNaN: true }),
    isChain: fc.boolean(),
    needs: fc.array(fc.nat(1000), { maxLength: 3 }),
  }),
  { minLength: 1, maxLength: 20 },
);

function workOf(microseconds: number, share: number): LaneWork {
  return { microseconds, share, isChain: false };
}

describe("Launches on lanes", () => {
  it("take no less than the longest way and no more than all in order with their waits", () => {
    fc.assert(
      fc.property(works, fc.integer({ min: 1, max: 5 }), (all, most) => {
        const needs = all.map(({ needs: own }, step) =>
          step === 0 ? [] : [...new Set(own.map((each) => each % step))].sort((a, b) => a - b),
        );
        const places = placesOf(needs, most);
        const ends: number[] = [];
        for (const [step, { front, waits }] of places.entries()) {
          const behind = front === undefined ? waits : [front, ...waits];
          const start = behind.reduce((latest, each) => Math.max(latest, ends[each] ?? 0), 0);
          ends.push(start + (all[step]?.microseconds ?? 0));
        }
        const longest = ends.reduce((latest, end) => Math.max(latest, end), 0);
        const inOrder = all.reduce((sum, { microseconds }) => sum + microseconds, 0);
        const waits = places.filter((place) => place.waits.length > 0).length;
        const taken = lanesMicroseconds(all, places);
        expect(taken).toBeGreaterThanOrEqual(longest - 1e-6);
        expect(taken).toBeLessThanOrEqual(inOrder + 1.75 * waits + 1e-6);
      }),
    );
  });

  it("take their sum on one lane", () => {
    const places = placesOf([[], [0], [1]], 1);
    expect(lanesMicroseconds([workOf(3, 1), workOf(4, 0.1), workOf(5, 1)], places)).toBeCloseTo(12, 6);
  });

  it("hide small ones beside a long one, and gain less where each fills the GPU", () => {
    const places = placesOf([[], [0], [0]], 2);
    const small = lanesMicroseconds([workOf(1, 0.1), workOf(10, 0.2), workOf(10, 0.2)], places);
    const large = lanesMicroseconds([workOf(1, 1), workOf(10, 1), workOf(10, 1)], places);
    expect(small).toBeCloseTo(12.25, 6);
    expect(large).toBeGreaterThan(17);
    expect(large).toBeLessThan(21);
  });
});
