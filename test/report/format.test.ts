import { describe, expect, test } from "vitest";
import {
  compact,
  counted,
  duration,
  durationRange,
  percent,
  printable,
  shortened,
} from "../../src/ir/format.ts";

describe("numbers", () => {
  test.each([
    [0, "0 µs"],
    [0.034, "0.034 µs"],
    [2.2, "2.2 µs"],
    [12.34, "12.3 µs"],
    [999.4, "999 µs"],
    [999.6, "1 ms"],
    [1960, "1.96 ms"],
    [123_456, "123 ms"],
    [999_600, "1 s"],
    [2_100_000, "2.1 s"],
    [-1960, "-1.96 ms"],
  ])("%d microseconds are %s", (microseconds, text) => {
    expect(duration(microseconds)).toBe(text);
  });

  test("the ends of a range have one unit, or each its own", () => {
    expect(durationRange(900, 2100)).toBe("900 µs to 2.1 ms");
    expect(durationRange(-3, 20)).toBe("-3 to 20 µs");
  });

  test("shares", () => {
    expect([0, 0.0003, 0.042, 0.0999, 0.63, 1].map(percent)).toEqual([
      "0 %",
      "0.03 %",
      "4.2 %",
      "10 %",
      "63 %",
      "100 %",
    ]);
  });

  test("large counts", () => {
    expect([17, 1234, 25_600_000, 999_700, 4.1e12].map(compact)).toEqual([
      "17",
      "1.23 k",
      "25.6 M",
      "1 M",
      "4.1 T",
    ]);
    expect([counted(1, "model"), counted(0, "model"), counted(2, "loss", "losses")]).toEqual([
      "1 model",
      "0 models",
      "2 losses",
    ]);
  });
});

test("what a terminal would act on is spelled out", () => {
  expect(printable("a\u001b[31m\n\u202eb\u2028")).toBe("a\\u001b[31m\\u000a\\u202eb\\u2028");
  expect(printable("größe/层.0")).toBe("größe/层.0");
});

test("long names lose their middle", () => {
  expect(shortened("abcdefghij", 10)).toBe("abcdefghij");
  expect(shortened("abcdefghijk", 10)).toBe("abcde…hijk");
});
