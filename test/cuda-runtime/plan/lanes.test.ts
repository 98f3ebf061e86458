/** @file Lanes keep every step behind what it needs, and say what may run beside it. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { lastBeside, placesOf } from "../../../cuda-runtime/plan/lanes.ts";
import { overBefore } from "./over-before.ts";

/** Of each step, some of those before it. */
const needs = fc
  .array(fc.array(fc.nat(1000), { maxLength: 3 }), { minLength: 1, maxLength: 30 })
  .map((rows) =>
    rows.map((row, step) =>
      step === 0 ? [] : [...new Set(row.map((each) => each % step))].sort((a, b) => a - b),
    ),
  );
const most = fc.integer({ min: 1, max: 5 });

describe("Lanes", () => {
  it("keep each step behind those that it needs, behind the first, and in its lane", () => {
    fc.assert(
      fc.property(needs, most, (all, lanes) => {
        const places = placesOf(all, lanes);
        const over = overBefore(places);
        for (const [step, { lane, front }] of places.entries()) {
          expect(lane).toBeLessThan(lanes);
          expect(front ?? -1).toBe(places.findLastIndex((place, at) => at < step && place.lane === lane));
          for (const need of step === 0 ? [] : [0, ...(all[step] ?? [])])
            expect(over[step]?.has(need)).toBe(true);
        }
      }),
    );
  });

  it("wait for nothing twice", () => {
    fc.assert(
      fc.property(needs, most, (all, lanes) => {
        const places = placesOf(all, lanes);
        const over = overBefore(places);
        for (const { front, waits } of places) {
          const behind = front === undefined ? waits : [front, ...waits];
          for (const wait of waits)
            for (const other of behind) if (other !== wait) expect(over[other]?.has(wait)).toBe(false);
        }
      }),
    );
  });

  it("are one where steps stay in order, from there on", () => {
    fc.assert(
      fc.property(needs, most, fc.nat(30), (all, lanes, from) => {
        const places = placesOf(all, lanes, (step) => step >= from);
        const over = overBefore(places);
        for (let step = from; step < places.length; step++) expect(over[step]?.size).toBe(step);
      }),
    );
  });

  it("tell the last step that may begin before one is over", () => {
    fc.assert(
      fc.property(needs, most, (all, lanes) => {
        const places = placesOf(all, lanes);
        const over = overBefore(places);
        const expected = places.map((_, step) =>
          places.reduce(
            (last, _place, later) => (later >= step && !over[later]?.has(step) ? later : last),
            step,
          ),
        );
        expect(lastBeside(places)).toEqual(expected);
      }),
    );
  });
});
