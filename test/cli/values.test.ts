import { describe, expect, test } from "vitest";
import { InputError } from "../../src/ir/errors.ts";
import { suggestion } from "../../src/settings/closest.ts";
import {
  parseChoice,
  parseCount,
  parseDims,
  parseList,
  parseShapes,
  parseShare,
} from "../../src/settings/values.ts";

function messageOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof InputError) return error.message;
    throw error;
  }
  throw new Error("nothing was thrown");
}

test("shares", () => {
  expect(["0.5%", "5 %", "0.005", ".5", "0", "1", "100%"].map((text) => parseShare(text, "--x"))).toEqual([
    0.005, 0.05, 0.005, 0.5, 0, 1, 1,
  ]);
  expect(parseShare(0.25, "--x")).toBe(0.25);
  for (const text of ["x", "", "-1%", "101%", "1e-3", "0,5"]) {
    expect(messageOf(() => parseShare(text, "--min-saving"))).toContain(`--min-saving: found "${text}"`);
  }
  expect(messageOf(() => parseShare("5", "--min-saving"))).toContain("5 percent is written 5%");
  for (const text of ["101%", "500%", "500"]) {
    expect(messageOf(() => parseShare(text, "--min-saving"))).not.toMatch(/%%|is written/);
  }
});

test("counts", () => {
  expect(parseCount("12", "--jobs", 1)).toBe(12);
  for (const text of ["-1", "1.5", "x", "", "99999999999999999999"]) {
    expect(messageOf(() => parseCount(text, "--jobs"))).toContain("expected a whole number");
  }
  expect(messageOf(() => parseCount("0", "--jobs", 1))).toContain("1 or more");
});

describe("sizes", () => {
  test("of inputs", () => {
    expect(parseShapes(["input=1,3,224,224", "a=b=2x3", "scalar="])).toEqual({
      input: [1, 3, 224, 224],
      "a=b": [2, 3],
      scalar: [],
    });
  });

  test.each(["input", "=1,2", "input=1,", "input=1,N", "input=-1"])("%s is refused", (text) => {
    expect(messageOf(() => parseShapes([text]))).toContain("input=1,3,224,224");
  });

  test("of dimensions, each once", () => {
    expect(parseDims(["batch=32", "seq=128"])).toEqual({ batch: 32, seq: 128 });
    expect(messageOf(() => parseDims(["batch=x"]))).toContain("batch=32");
    expect(messageOf(() => parseDims(["batch=1", "batch=2"]))).toBe('--dim: "batch" is given twice');
  });

  test("a name from JavaScript's objects is a name", () => {
    expect(Object.entries(parseDims(["__proto__=3", "constructor=4"]))).toEqual([
      ["__proto__", 3],
      ["constructor", 4],
    ]);
  });
});

test("lists and choices", () => {
  expect(parseList(["TC101, TC102", "", "TC2"], "--select")).toEqual(["TC101", "TC102", "TC2"]);
  expect(() => parseList(["", " , "], "--select")).toThrow(/--select: found/);
  expect(messageOf(() => parseChoice("jsom", "--format", ["text", "json"]))).toBe(
    '--format: found "jsom", expected one of text, json; did you mean "json"?',
  );
});

test("a suggestion is near or none", () => {
  expect(suggestion("misaligned-gem", ["misaligned-gemm", "narrow-stem"])).toBe(
    '; did you mean "misaligned-gemm"?',
  );
  expect(suggestion("zzz", ["misaligned-gemm"])).toBe("");
  expect(suggestion("TC999", ["TC9", "TC901", "TC101"])).toBe("");
});
