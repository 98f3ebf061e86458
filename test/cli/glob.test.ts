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
  ["*.onnx", ["../models/a.onnx", "../../a.onnx"], ["../a"]],
  ["../m/*.onnx", ["../m/a.onnx"], ["m/a.onnx"]],
  ["v{1..3}.onnx", ["v1.onnx", "v3.onnx"], ["v4.onnx"]],
  ["!a.onnx", ["!a.onnx"], ["b.onnx"]],
  ["#a.onnx", ["#a.onnx"], []],
];

describe("path patterns", () => {
  test.each(rows)("%s", (pattern, matches, misses) => {
    const matcher = pathMatcher(pattern);
    for (const path of matches) expect([path, matcher(path)]).toEqual([path, true]);
    for (const path of misses) expect([path, matcher(path)]).toEqual([path, false]);
  });

  test.each([
    ["{a,b}".repeat(20), /more than 1000 alternatives/],
    [`${"{a,".repeat(33)}b${"}".repeat(33)}`, /more than 32 pairs of braces/],
    [`${"{a,b}".repeat(9)}${"*x".repeat(1000)}`, /alternatives of a pattern have more than 65536 characters/],
    ["x[z-a]", /the range z-a runs backwards/],
    ["[a-c\\]-\\[]{a,b}", /the range \\\]-\\\[ runs backwards/],
    ["{1..1000000000}", /more than 1000 alternatives/],
    ["*".repeat(5000), /more than 4096 characters/],
  ])("%s is refused", (pattern, message) => {
    expect(() => pathMatcher(pattern)).toThrow(message);
    expect(() => nameMatcher(pattern)).toThrow(message);
  });
});

/** As regular expressions these take longer than anyone waits, so that a failure is the test's time limit. */
describe("patterns that are made to take long do not", () => {
  const hostile: readonly (readonly [pattern: string, text: string])[] = [
    [`${"*a".repeat(500)}*b`, `${"a".repeat(4000)}c`],
    [`${"*?".repeat(500)}*b`, `${"a".repeat(4000)}c`],
    [`${"{*a,*aa}".repeat(9)}b`, `${"a".repeat(4000)}c`],
    [`${"**/a/".repeat(500)}b`, `${"a/".repeat(2000)}c`],
    [`${"**/*a*a*/".repeat(100)}b`, `${"aaaa/".repeat(1000)}c`],
    ["[".repeat(4000), "a".repeat(4000)],
    [`${"*[!b]".repeat(500)}*b`, `${"a".repeat(4000)}c`],
    [`${"+(a|aa)".repeat(500)}b`, `${"a".repeat(4000)}c`],
  ];
  test.each(hostile)("%s", (pattern, text) => {
    expect(pathMatcher(pattern)(text)).toBe(false);
    expect(nameMatcher(pattern)(text)).toBe(false);
  });
});

test("in names of nodes a star crosses slashes and dots", () => {
  const matches = nameMatcher("/encoder/*/MatMul*");
  expect(matches("/encoder/layer.0/attn/MatMul_1")).toBe(true);
  expect(matches("/decoder/layer.0/attn/MatMul_1")).toBe(false);
  expect(nameMatcher("head")("/lm/head")).toBe(false);
  for (const name of ["", ".", "..", "/", "a//b", ".hidden"]) expect(nameMatcher("*")(name)).toBe(true);
  expect(nameMatcher("a/**")("a/b/c")).toBe(true);
});

test("where a search starts", () => {
  expect(["a/b/*.onnx", "*.onnx", "/x/**", "/*.onnx"].map(staticPrefix)).toEqual(["a/b", ".", "/x", "/"]);
  expect(["a*", "a?", "[a]", "{a,b}"].every(hasMagic)).toBe(true);
  expect(hasMagic("models/a-b_c.onnx")).toBe(false);
});
