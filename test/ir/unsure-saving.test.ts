import { expect, test } from "vitest";
import { unsureSavingText } from "../../src/ir/format.ts";

test.each([
  [
    { microseconds: 3, low: -1, high: 7 },
    "predicted to save 3 µs (7 less to 1 µs more), and may save nothing",
  ],
  [{ microseconds: -4.17, low: -6.08, high: -0.655 }, "predicted to cost 4.17 µs (0.655 to 6.08 µs)"],
  [
    { microseconds: -2, low: -6, high: 1 },
    "predicted to cost 2 µs (1 less to 6 µs more), though it may save time",
  ],
])("%j is told as what it is: a saving that may be none, or a loss", (saves, text) => {
  expect(unsureSavingText(saves, 40)).toBe(text);
});

test("a saving below the threshold says that instead", () => {
  expect(unsureSavingText({ microseconds: 3, low: 1, high: 7 }, 40, "below --min-saving")).toBe(
    "predicted to save 3 µs (1 to 7 µs), below --min-saving",
  );
});
