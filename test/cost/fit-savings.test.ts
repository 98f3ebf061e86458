/** @file Which multiples of an error's size become the ends of a saving's interval. */
import { expect, test } from "vitest";
import { rangeOfErrors, ratioTails } from "../../scripts/fit/savings.ts";

/** 0.5, 1.5, …, 99.5: what lies below a value is its share in percent. */
const hundredths = (forward: boolean) =>
  Array.from({ length: 100 }, (_, index) => ({ scale: index + 0.5, forward, weight: 1 }));

test("more savings lie below an interval than above it, whichever way features grow; together about one in six", () => {
  const { less, more } = ratioTails;
  expect(less).toBeGreaterThan(more);
  expect(less + more).toBeLessThan(0.175);
  // ln(after / before) is larger than predicted where less is saved.
  const forward = rangeOfErrors(hundredths(true));
  expect(Math.abs(forward.low - 100 * more)).toBeLessThan(1);
  expect(Math.abs(forward.high - 100 * (1 - less))).toBeLessThan(1);
  const against = rangeOfErrors(hundredths(false));
  expect(Math.abs(against.low - 100 * less)).toBeLessThan(1);
  expect(Math.abs(against.high - 100 * (1 - more))).toBeLessThan(1);
});
