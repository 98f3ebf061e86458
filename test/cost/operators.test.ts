/** Predictions of operators by themselves against rows that nothing was fitted to: PyTorch's own times on an H200. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { readPairs } from "../../bench/pair-rows.ts";
import { createCostModel } from "../../src/cost/model.ts";
import type { TrafficPattern, TrafficVariant } from "../../src/ops/work.ts";
import { targetOf } from "./targets.ts";

const cost = createCostModel();
const target = targetOf("h200", "cudnn");
const results = path.join(import.meta.dirname, "../../bench/results");

type Size = readonly [rows: number, columns: number];

function predicted(pattern: TrafficPattern, variant: TrafficVariant, [rows, columns]: Size): number {
  const bytes = 2 * rows * columns;
  const work = { kind: "traffic", pattern, rows, columns, dtype: "float16" } as const;
  const moved = { bytesRead: variant === "add" ? 2 * bytes : bytes, bytesWritten: bytes };
  return cost.estimate({ ...work, ...moved }, target, { variant }).microseconds;
}

interface Judged {
  readonly what: string;
  readonly ratio: number;
}

const lines = readFileSync(path.join(results, "rewrites.jsonl"), "utf8").trim().split("\n");
const rewrites = lines.map((line): [[string, ...number[]], Readonly<Record<string, number>>] =>
  JSON.parse(line),
);

/** Rows of bench/measure_rewrites.py; nothing reads them but tests. */
function rewritten(
  family: string,
  time: string,
  sizeOf: (sizes: readonly number[]) => Size,
  pattern: TrafficPattern,
  variant: TrafficVariant,
): Judged[] {
  return rewrites.flatMap(([[name, ...sizes], times]) => {
    const measured = times[time];
    if (name !== family || measured === undefined) return [];
    return [
      { what: `${name} ${sizes.join(" ")}`, ratio: predicted(pattern, variant, sizeOf(sizes)) / measured },
    ];
  });
}

const rowsAndColumns = ([rows = 1, columns = 1]: readonly number[]): Size => [rows, columns];
const image = ([b = 1, c = 1, side = 1]: readonly number[]): Size => [b * c, side * side];

describe("an operator takes what was measured", () => {
  it.each([
    ["LayerNormalization", rewritten("ln", "op", rowsAndColumns, "normalization", "layernorm")],
    ["Gelu", rewritten("gelu", "op", rowsAndColumns, "elementwise", "gelu")],
    ["a factor for each channel", rewritten("gn", "mul", image, "elementwise", "bias")],
  ])("%s", (_, judged) => {
    expect(judged.length).toBeGreaterThan(5);
    const off = judged.filter(({ ratio }) => ratio < 0.8 || ratio > 1.25);
    expect(off).toEqual([]);
  });

  it("Softmax and LayerNormalization from a cold L2 are the same kernels", () => {
    const { rows } = JSON.parse(readFileSync(path.join(results, "gpu-norm-fp16.json"), "utf8")) as {
      readonly rows: readonly {
        readonly op: { readonly op: "layernorm" | "softmax"; readonly rows: number; readonly cols: number };
        readonly peerUs: number;
      }[];
    };
    const ratios = rows
      .map(({ op, peerUs }) => predicted("normalization", op.op, [op.rows, op.cols]) / peerUs)
      .sort((a, b) => a - b);
    expect(ratios.length).toBeGreaterThan(20);
    expect(ratios[Math.floor(ratios.length / 2)]).toBeGreaterThan(0.8);
    expect(ratios[Math.floor(ratios.length / 2)]).toBeLessThan(1.15);
  });

  // Four kernels in turns: product, scale, Softmax, product. Seeds that judge.
  it.each([12, 15, 17])("kernels behind one another add up, seed %i", (seed) => {
    const { pairs } = readPairs(path.join(results, `pairs-h200-seed${seed}.jsonl`));
    const errors = pairs
      .filter(({ kind }) => kind === "written")
      .map(({ before: { samples, microseconds } }) => {
        const parts = samples.map(({ work, precision, biased, variant }) =>
          cost.estimate(work, { ...target, precision }, { biased, variant }),
        );
        const sum = parts.reduce((total, part) => total + part.microseconds, 0);
        return Math.abs(sum / microseconds - 1);
      })
      .sort((a, b) => a - b);
    expect(errors.length).toBeGreaterThan(80);
    expect(errors[Math.floor(0.5 * errors.length)]).toBeLessThan(0.06);
    expect(errors[Math.floor(0.9 * errors.length)]).toBeLessThan(0.2);
  });
});
