/** @file The committed fit: its figures meet the goals, and nothing it was made from has changed since. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { withFigures } from "../../scripts/fit/markdown.ts";
import { h200Calibration } from "../../src/cost/coefficients/h200-cudnn.ts";
import report from "../../src/cost/fit-report.json" with { type: "json" };
import { sharedPath } from "../shared.ts";

/** Percent: mean error, and 90th percentile of the error at most 2.2 times that. */
const goals = {
  "gemm fp16 (rows)": 10,
  "bmm (rows)": 15,
  "conv (rows)": 15,
  "sdpa (rows)": 10,
  "memory (rows)": 15,
} as const;

describe("out of fold, on the shared rows", () => {
  test.each(Object.entries(goals))("%s: a mean error of at most %i %%", (name, goal) => {
    const figures = new Map(Object.entries(report.families)).get(name);
    expect(figures?.rows).toBeGreaterThan(500);
    expect(figures?.meanError).toBeLessThanOrEqual(goal);
    expect(figures?.p90Error).toBeLessThanOrEqual(2.2 * goal);
    expect(figures?.coverage).toBeGreaterThan(85);
    expect(figures?.coverage).toBeLessThan(95);
  });

  test("pairs: the saving within 8 points, nine of ten within the interval", () => {
    const pairs = report.pairs["without M (shared)"];
    expect(pairs.pairs).toBeGreaterThan(500);
    expect(pairs.medianSavingError).toBeLessThanOrEqual(8);
    expect(pairs.medianSpeedupError).toBeLessThanOrEqual(8);
    expect(pairs.coverage).toBeGreaterThan(85);
    expect(pairs.coverage).toBeLessThan(95);
  });

  test("pairs that pad a misaligned size: the sign is right", () => {
    const pairs = report.pairs["from a misaligned size, without M (shared)"];
    expect(pairs.pairs).toBeGreaterThan(500);
    // Of all predictions; of what is claimed, test/bench/fresh-pairs.test.ts.
    expect(pairs.signRight).toBeGreaterThanOrEqual(95);
    expect(pairs.coverage).toBeGreaterThan(84);
    expect(pairs.coverage).toBeLessThan(95);
  });

  test("the residual pays in each family", () => {
    for (const name of Object.keys(goals)) {
      const figures = new Map(Object.entries(report.families)).get(name);
      expect(figures?.meanError).toBeLessThan(0.8 * (figures?.analyticMeanError ?? 0));
    }
  });
});

describe("the report is not stale", () => {
  test("the coefficients are those it is about", () => {
    const sha256 = createHash("sha256").update(JSON.stringify(h200Calibration)).digest("hex");
    expect(sha256, "run npm run fit").toBe(report.coefficients.sha256);
  });

  test("docs/cost-model.md shows its figures", () => {
    const document = readFileSync(new URL("../../docs/cost-model.md", import.meta.url), "utf8");
    expect(withFigures(document, report)).toBe(document);
  });

  test("the measurements are those it was made from", (context) => {
    if (sharedPath("measurements") === undefined) return context.skip();
    const root = new URL("../../", import.meta.url);
    for (const [file, sha256] of Object.entries(report.data)) {
      const url = new URL(file, root);
      expect(existsSync(url), file).toBe(true);
      expect(createHash("sha256").update(readFileSync(url, "utf8")).digest("hex"), file).toBe(sha256);
    }
  });
});
