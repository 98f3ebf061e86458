/** @file Whether a finding is claimed, counted as too small, or counted as what may save nothing. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { standingOf } from "../../src/lint/group.ts";

const saves = fc
  .record({
    low: fc.double({ min: -5, max: 5, noNaN: true }),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .map(({ low, share }) => ({ microseconds: Math.max(low, 1), low, high: 10, share, of: 20 }));

describe("a finding", () => {
  test("that may save nothing is never counted among those that are sure, however small it is", () => {
    fc.assert(
      fc.property(saves, (each) => {
        const stands = standingOf({ saves: each, declined: undefined }, 0.005);
        expect(stands === "uncertain").toBe(each.low <= 0);
        if (stands === "below") expect(each.share).toBeLessThan(0.005);
      }),
    );
  });
});
