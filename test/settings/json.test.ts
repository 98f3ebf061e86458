/** @file JSON written by hand: where it stops being JSON. */
import { expect, it } from "vitest";
import { parseJson } from "../../src/settings/json.ts";

it.each([
  ["", /is not valid JSON: it is empty$/],
  [" \n", /it is empty$/],
  ['{\n  "a": 1', /\(line 2, column 9\)$/],
  ["{ a: 1 }", /\(line 1, column 3\)$/],
])("%j: %s", (text, message) => {
  expect(() => parseJson(text)).toThrow(message);
});
