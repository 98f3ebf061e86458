/** @file What a mistyped word is taken for. */
import { expect, it } from "vitest";
import { closest } from "../../src/settings/closest.ts";

it.each([
  ["TC13", "TC103"],
  ["TC104", "TC103"],
  ["tc-103", "TC103"],
  ["TC999", undefined],
  ["TC130", undefined],
  ["something else", undefined],
])("%s: %s", (word, meant) => {
  expect(closest(word, ["TC103"])).toBe(meant);
});
