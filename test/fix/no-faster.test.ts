/** What is not done because it is not sure to gain says whether it may cost, is predicted to, or is sure to. */
import { expect, it } from "vitest";
import { noFaster } from "../../src/fix/decide.ts";

it.each([
  [
    { microseconds: 7, low: -13, high: 31, after: 223 },
    "may be no faster: predicted 230 µs → 223 µs, in all a saving of -13 to 31 µs",
  ],
  [
    { microseconds: -11, low: -20, high: 3, after: 223 },
    "is predicted to be slower: 212 µs → 223 µs, in all a saving of -20 to 3 µs",
  ],
  [
    { microseconds: -11, low: -20, high: -3, after: 223 },
    "is slower: predicted 212 µs → 223 µs, in all a cost of 3 to 20 µs",
  ],
])("%j", (written, text) => {
  expect(noFaster(written)).toBe(text);
});
