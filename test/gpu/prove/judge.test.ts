/** @file When a measured difference is one. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Times } from "../../../cuda-runtime/session/timing.ts";
import {
  differenceOfSteps,
  differenceOfTurns,
  gains,
  loses,
  type StepTime,
} from "../../../src/gpu/prove/judge.ts";

const times = (median: number, spread = 0): Times => ({
  median,
  low: median - spread,
  high: median + spread,
  repeats: 12,
});
const step = (key: string, median: number, spread = 0): StepTime => ({ key, times: times(median, spread) });

describe("steps of two plans", () => {
  it("count where only one of the plans has them, as often as it has them more", () => {
    const before = [step("conv", 10), step("norm", 4), step("conv", 10), step("conv", 10)];
    const after = [step("norm", 4), step("conv", 10), step("fast", 5), step("fast", 5)];
    expect(differenceOfSteps(before, after)).toMatchObject({ before: 20, after: 10 });
  });

  it("make no difference where both have the same, in whatever order", () => {
    const steps = fc.array(fc.tuple(fc.constantFrom("a", "b", "c"), fc.constant(3)));
    fc.assert(
      fc.property(steps, (drawn) => {
        const own = drawn.map(([key, median]) => step(key, median, 1));
        const difference = differenceOfSteps(own, [...own].reverse());
        expect(difference).toEqual({ before: 0, after: 0, noise: 0 });
        expect([gains(difference), loses(difference)]).toEqual([false, false]);
      }),
    );
  });

  it("are told apart beyond the spread of their times, and beyond drifting clocks", () => {
    const verdict = (before: StepTime, after: StepTime) => gains(differenceOfSteps([before], [after]));
    expect(verdict(step("a", 10, 0.1), step("b", 9, 0.1))).toBe(true);
    expect(verdict(step("a", 10, 4), step("b", 9, 4))).toBe(false);
    expect(verdict(step("a", 10), step("b", 9.95))).toBe(false);
  });

  it("gain in one direction exactly where they lose in the other", () => {
    const time = fc.double({ min: 0.5, max: 500, noNaN: true });
    fc.assert(
      fc.property(time, time, fc.double({ min: 0, max: 5, noNaN: true }), (a, b, spread) => {
        const [first, second] = [[step("a", a, spread)], [step("b", b, spread)]];
        expect(gains(differenceOfSteps(first, second))).toBe(loses(differenceOfSteps(second, first)));
      }),
    );
  });
});

describe("whole runs in turns", () => {
  it("are compared turn by turn: a clock that falls for both is no difference", () => {
    const before = [100, 110, 120, 130, 140, 150, 160];
    const same = differenceOfTurns(before, before);
    expect([gains(same), loses(same)]).toEqual([false, false]);
    const faster = differenceOfTurns(
      before,
      before.map((time) => time - 3),
    );
    expect(faster).toMatchObject({ before: 130, after: 127 });
    expect(gains(faster)).toBe(true);
  });

  it("are no difference within their spread", () => {
    const difference = differenceOfTurns([100, 120, 90, 110, 105], [99, 100, 115, 108, 104]);
    expect([gains(difference), loses(difference)]).toEqual([false, false]);
  });
});
