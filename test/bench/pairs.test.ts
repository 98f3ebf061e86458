/** @file Pairs as bench/gpu/pairs.py writes them, and how bench/pairs.ts counts what the cost model makes of them. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { figuresOf, type Outcome, sizesOf, tableOf } from "../../bench/pair-figures.ts";
import { isFitFile, isFitted, readPairs } from "../../bench/pair-rows.ts";

const folder = mkdtempSync(path.join(tmpdir(), "tc-lint-pairs-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const meta = {
  gpu: "NVIDIA H200",
  target: "h200",
  torch: "2.11.0",
  date: "2026-11-22",
  seed: 1,
  timing: "hot",
};

function fileOf(name: string, ...rows: readonly object[]): string {
  const file = path.join(folder, name);
  writeFileSync(file, `${[{ meta }, ...rows].map((row) => JSON.stringify(row)).join("\n")}\n`);
  return file;
}

function sideOf(row: readonly unknown[], us: number) {
  return { call: row, rows: [row], us, spread: 0.01 };
}

describe("a row becomes work", () => {
  const conv = ["conv", 4, 3, 64, 48, 30, 3, 2, 1, 1, "NCHW", "tf32"];
  const heads = (dtype: string) => ["sdpa_typed", 2, 8, 128, 77, 40, false, dtype];
  const file = fileOf(
    "rows.jsonl",
    {
      index: 0,
      kind: "precision-tf32",
      part: "conv",
      before: sideOf(conv, 9),
      after: sideOf([...conv.slice(0, -1), "fp16"], 5),
    },
    {
      index: 1,
      kind: "precision-fp32",
      part: "sdpa",
      before: sideOf(heads("fp32"), 8),
      after: sideOf(heads("fp16"), 4),
    },
    {
      index: 2,
      kind: "written",
      part: "NN",
      before: {
        call: ["written"],
        rows: [
          ["bmm_typed", 8, 64, 77, 36, "NT", "fp16"],
          ["traffic_typed", "scale", "elementwise", 512, 77, 78848, 78848, "fp16"],
          ["memory", "softmax", 512, 77, "fp16"],
        ],
        us: 7,
        spread: 0,
      },
      after: sideOf(["bmm_typed", 8, 64, 77, 40, "NT", "fp16"], 6),
    },
  );
  const { gpu, pairs } = readPairs(file);

  test("with its sizes, its number format and its time", () => {
    expect(gpu).toBe("h200");
    expect(pairs.map(({ before }) => before.microseconds)).toEqual([9, 8, 7]);
    const [first, second] = pairs.map(({ before }) => before.samples[0]);
    expect(first).toMatchObject({ precision: "tf32", work: { kind: "conv", filters: 30, output: [32, 24] } });
    expect(second).toMatchObject({ precision: "as-is", work: { kind: "attention", dtype: "float32" } });
    expect(pairs[1]?.after.samples[0]).toMatchObject({ precision: "as-is", work: { dtype: "float16" } });
  });

  test("several kernels of one side each", () => {
    const kinds = pairs[2]?.before.samples.map(({ work, variant }) => [work.kind, variant]);
    expect(kinds).toEqual([
      ["gemm", undefined],
      ["traffic", "relu"],
      ["traffic", "softmax"],
    ]);
  });

  test("a shape is known in any number format and layout", () => {
    const [first] = pairs;
    const twin = readPairs(
      fileOf("twin.jsonl", {
        index: 0,
        kind: "layout",
        part: "dense",
        before: sideOf(["conv", 4, 3, 64, 48, 30, 3, 2, 1, 1, "NHWC", "fp16"], 4),
        after: sideOf(["conv", 4, 3, 64, 48, 32, 3, 2, 1, 1, "NHWC", "fp16"], 3),
      }),
    ).pairs[0];
    if (first === undefined || twin === undefined) throw new Error("no pairs");
    const { work } = twin.before.samples[0] ?? {};
    const shapes = new Set([
      JSON.stringify([
        Object.entries(work ?? {}).filter(([name]) => !["dtype", "layout"].includes(name)),
        undefined,
      ]),
    ]);
    expect(isFitted(first, shapes)).toBe(true);
    expect(isFitted(twin, shapes)).toBe(true);
    expect(isFitted(first, new Set())).toBe(false);
  });
});

test("what a fit reads is in sample, as the file that it is", () => {
  expect(isFitFile("bench/measurements/h200-pairs-seed11.jsonl")).toBe(true);
  expect(isFitFile(path.join(folder, "h200-pairs-seed11.jsonl"))).toBe(false);
});

test("a number format that nobody knows is an error", () => {
  const row = ["sdpa_typed", 2, 8, 128, 77, 40, false, "fp8"];
  const pair = { index: 0, kind: "sdpa", part: "full", before: sideOf(row, 1), after: sideOf(row, 1) };
  expect(() => readPairs(fileOf("wrong.jsonl", pair))).toThrow("fp8");
});

describe("figures", () => {
  const outcome = (before: number, after: number, low: number, middle: number, high: number): Outcome => ({
    kind: "conv",
    before,
    after,
    predictedBefore: before * 1.1,
    saving: { low, microseconds: middle, high },
  });

  test("claims are those above zero; small changes are neither right nor wrong", () => {
    const figures = figuresOf([
      outcome(100, 80, 10, 20, 30),
      outcome(100, 99, 5, 20, 30),
      outcome(100, 103, 5, 20, 30),
      outcome(100, 90, -5, 5, 20),
      outcome(100, 90, -5, -1, 3),
    ]);
    expect(figures.pairs).toBe(5);
    expect(figures.error).toBeCloseTo(10);
    expect(figures.covered).toBe(40);
    expect(figures.ungated).toMatchObject({ count: 4, nothing: 1, losses: 25 });
    expect(figures.ungated.signRight).toBeCloseTo(200 / 3);
    expect(figures.ungated.claimed).toBeCloseTo(200 / 3);
    expect(figures.gated).toMatchObject({ count: 3, nothing: 1, signRight: 50 });
    expect(figures.gated.losses).toBeCloseTo(100 / 3);
    expect(figures.gated.claimed).toBeCloseTo(100 / 3);
  });

  test("a table has a line a kind, and of kinds with one goal", () => {
    const lines = tableOf([outcome(100, 80, 10, 20, 30), outcome(100, 101, -5, -1, 3)]).split("\n");
    expect(lines.map((line) => line.split(" | ")[0])).toEqual([
      "| kind",
      "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
      "| conv",
      "| all padding",
      "| all",
    ]);
    expect(lines[2]).toContain("| conv | 2 | 10.0 | 100.0 | 1 | 100.0 | 0 | 0.0 | 100.0 | 1 | ");
  });

  test("large savings by size, and by what was predicted of those that nobody claims", () => {
    const lines = sizesOf([
      outcome(100, 97, -5, 5, 20),
      outcome(100, 92, 1, 5, 20),
      outcome(100, 92, -5, -1, 20),
      outcome(100, 80, -5, 5, 20),
      outcome(100, 80, -5, 22, 40),
      outcome(100, 80, -5, 60, 70),
      outcome(100, 40, 30, 60, 70),
    ]).split("\n");
    expect(lines.slice(2)).toEqual([
      "| 5 to 10 % | 2 | 1 | 50.0 | 1 | 1 | 0 | 0 | 0 |",
      "| 10 to 20 % | 3 | 0 | 0.0 | 3 | 0 | 1 | 1 | 1 |",
      "| 20 to 30 % | 0 | 0 | – | 0 | 0 | 0 | 0 | 0 |",
      "| 30 to 50 % | 0 | 0 | – | 0 | 0 | 0 | 0 | 0 |",
      "| 50 to 100 % | 1 | 1 | 100.0 | 0 | 0 | 0 | 0 | 0 |",
      "| all | 6 | 2 | 33.3 | 4 | 1 | 1 | 1 | 1 |",
    ]);
  });
});
