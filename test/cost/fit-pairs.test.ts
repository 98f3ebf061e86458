/** @file Which samples a fit takes for a change: padding, another number format, another layout, and what was measured as one. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { linesOf } from "../../scripts/fit/data.ts";
import { pairsOf } from "../../scripts/fit/pairs.ts";

const folder = mkdtempSync(path.join(tmpdir(), "tc-lint-fit-pairs-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function samplesOf(...lines: readonly unknown[]) {
  const file = path.join(folder, "rows.jsonl");
  writeFileSync(file, lines.map((line) => JSON.stringify(line)).join("\n"));
  return linesOf(file);
}

const shown = (lines: readonly unknown[]) =>
  pairsOf(samplesOf(...lines)).map(({ before, after, kind, asChange }) => [before, after, kind, asChange]);

const conv = (channels: number, layout: string, dtype: string, us: number) =>
  ["conv", 8, channels, 28, 28, 64, 3, 1, 1, 1, layout, dtype, us] as const;

describe("pairs", () => {
  test("of rows: one size padded, the layout, the number format; never two at once", () => {
    const lines = [
      conv(30, "NHWC", "fp16", 9),
      conv(32, "NHWC", "fp16", 6),
      conv(32, "NCHW", "fp16", 8),
      conv(32, "NHWC", "fp32", 20),
      conv(32, "NHWC", "tf32", 10),
      conv(30, "NCHW", "tf32", 10),
    ];
    expect(shown(lines)).toEqual([
      [0, 1, "padding", false],
      [3, 1, "precision", false],
      [3, 4, "precision", false],
      [4, 1, "precision", false],
      [2, 1, "layout", false],
    ]);
  });

  test("of passes over memory: the number format, whose bytes follow it", () => {
    const lines = [
      ["memory", "softmax", 512, 77, "fp32", 4],
      ["memory", "softmax", 512, 77, "fp16", 3],
      ["memory", "relu", 512, 77, "fp16", 3],
    ];
    expect(shown(lines)).toEqual([[0, 1, "precision", false]]);
  });

  test("measured as a change: the sides of one kernel each, also where two sizes grow", () => {
    const side = (rows: readonly unknown[], us: number) => ({ call: [], rows, us, spread: 0 });
    const row = (n: number, k: number) => ["gemm", 64, n, k, "fp16"];
    const change = (index: number, before: object, after: object) => ({
      index,
      kind: "gemm",
      part: "NK",
      before,
      after,
    });
    const lines = [
      { meta: { gpu: "NVIDIA H200" } },
      change(0, side([row(1001, 511)], 9), side([row(1008, 512)], 4)),
      change(1, side([row(33, 35), row(7, 9)], 9), side([row(40, 40)], 4)),
    ];
    expect(samplesOf(...lines).map(({ microseconds, change }) => [microseconds, change?.side])).toEqual([
      [9, "before"],
      [4, "after"],
      [4, "after"],
    ]);
    expect(shown(lines)).toEqual([[0, 1, "padding", true]]);
  });
});
