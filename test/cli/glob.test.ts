import { describe, expect, test } from "vitest";
import { hasMagic, nameMatcher, pathMatcher, staticPrefix } from "../../src/settings/glob.ts";

const rows: readonly (readonly [pattern: string, matches: readonly string[], misses: readonly string[]])[] = [
  ["*.onnx", ["a.onnx", "deep/er/a.onnx", ".onnx"], ["a.onnx.data", "a/onnx"]],
  ["models/*.onnx", ["models/a.onnx"], ["models/x/a.onnx", "a.onnx", "x/models/a.onnx"]],
  ["models/**/*.onnx", ["models/a.onnx", "models/x/y/a.onnx"], ["a.onnx", "modelsx/a.onnx"]],
  ["**/skip/**", ["skip/a", "x/skip/y/a.onnx"], ["skipped/a"]],
  ["models/", ["models/a.onnx", "models/x/a.onnx"], ["models.onnx"]],
  ["./a.onnx", ["a.onnx"], ["b.onnx"]],
  ["a?.onnx", ["ab.onnx"], ["a.onnx", "abc.onnx"]],
  ["m[ab]_[!0-9].onnx", ["ma_x.onnx", "mb__.onnx"], ["mc_x.onnx", "ma_1.onnx"]],
  ["x/[!a].onnx", ["x/b.onnx"], ["x//.onnx", "x/a.onnx"]],
  ["{a,b/{c,d}}.onnx", ["a.onnx", "b/c.onnx", "b/d.onnx"], ["b.onnx", "c.onnx"]],
  ["{a}.onnx", ["{a}.onnx"], ["a.onnx"]],
  ["a\\*.onnx", ["a*.onnx"], ["ab.onnx"]],
  ["a+(b)$.onnx", ["a+(b)$.onnx"], ["aab.onnx"]],
  ["[", ["["], ["x"]],
];

describe("path patterns", () => {
  test.each(rows)("%s", (pattern, matches, misses) => {
    const matcher = pathMatcher(pattern);
    for (const path of matches) expect([path, matcher(path)]).toEqual([path, true]);
    for (const path of misses) expect([path, matcher(path)]).toEqual([path, false]);
  });

  test("a pattern that explodes is refused", () => {
    expect(() => pathMatcher("{a,b}".repeat(20))).toThrow(/alternatives/);
    expect(() => pathMatcher("*".repeat(5000))).toThrow(/characters/);
  });
});

test("in names of nodes a star crosses slashes and dots", () => {
  const matches = nameMatcher("/encoder/*/MatMul*");
  expect(matches("/encoder/layer.0/attn/MatMul_1")).toBe(true);
  expect(matches("/decoder/layer.0/attn/MatMul_1")).toBe(false);
  expect(nameMatcher("head")("/lm/head")).toBe(false);
});

test("where a search starts", () => {
  expect(["a/b/*.onnx", "*.onnx", "/x/**", "/*.onnx"].map(staticPrefix)).toEqual(["a/b", ".", "/x", "/"]);
  expect(["a*", "a?", "[a]", "{a,b}"].every(hasMagic)).toBe(true);
  expect(hasMagic("models/a-b_c.onnx")).toBe(false);
});
