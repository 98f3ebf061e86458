/** What a kernel of a model takes longer than by itself: of whole runs on an H200 beside their launches, each timed alone. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { createCostModel } from "../../src/cost/model.ts";
import { stacks } from "../../src/hardware/stacks.ts";
import { openModel } from "../../src/onnx/open.ts";
import type { ProductWork } from "../../src/ops/work.ts";
import { volume } from "../../src/ops/work.ts";
import { priceModel } from "../../src/workload/workload.ts";
import { sharedPath } from "../shared.ts";
import { gemm, targetOf } from "./targets.ts";

interface WholeRun {
  readonly model: string;
  readonly launches: number;
  /** From a cold L2, and of its launches timed one by one. */
  readonly microseconds: number;
  readonly stepMicroseconds: number;
}

const zoo = sharedPath("zoo");

/** Of weights in half precision. */
function weightBytes(work: ProductWork<number>): number {
  if (work.kind === "conv") return (2 * work.filters * work.channels * volume(work.kernel)) / work.groups;
  return work.kind === "gemm" && work.sharedB ? 2 * work.n * work.k : 0;
}

function weightsOf(model: string): number {
  using opened = openModel(path.join(zoo ?? "", `${model}.onnx`));
  const { products } = priceModel(opened, {
    target: targetOf("h200", "cudnn", "fp16"),
    cost: createCostModel(),
  });
  return products.reduce((sum, { sizes, runs }) => sum + weightBytes(sizes) * runs, 0);
}

/** Least squares of `y` on two regressors and a constant, each row counting `weight` squared. */
function regression(
  rows: readonly { readonly x: readonly number[]; readonly y: number; readonly weight: number }[],
) {
  const size = rows[0]?.x.length ?? 0;
  const matrix = Array.from({ length: size }, (_, i) => [
    ...Array.from({ length: size }, (__, j) =>
      rows.reduce((sum, { x, weight }) => sum + weight ** 2 * (x[i] ?? 0) * (x[j] ?? 0), 0),
    ),
    rows.reduce((sum, { x, y, weight }) => sum + weight ** 2 * (x[i] ?? 0) * y, 0),
  ]);
  for (const [at, pivot] of matrix.entries()) {
    const lead = pivot[at] ?? 1;
    for (const [column, value] of pivot.entries()) pivot[column] = value / lead;
    for (const [other, row] of matrix.entries()) {
      if (other === at) continue;
      const factor = row[at] ?? 0;
      for (const [column, value] of pivot.entries()) row[column] = (row[column] ?? 0) - factor * value;
    }
  }
  return matrix.map((row) => row.at(-1) ?? Number.NaN);
}

describe("a kernel between others", () => {
  it.skipIf(zoo === undefined)("takes as much longer as launches of whole runs do", () => {
    const file = path.join(import.meta.dirname, "../../bench/measurements/h200-runtime-models.jsonl");
    const runs = readFileSync(file, "utf8")
      .trim()
      .split("\n")
      .map((line): WholeRun => JSON.parse(line));
    // A sequence's steps are one launch; where weights are a gigabyte they are all that shows.
    const rows = runs
      .filter(({ model }) => model !== "crnn" && model !== "video_unet_192")
      .map(({ model, launches, microseconds, stepMicroseconds }) => ({
        x: [launches, weightsOf(model) / 1e6, 1],
        y: microseconds - stepMicroseconds,
        weight: 1 / stepMicroseconds,
      }));
    const [launch = Number.NaN, megabyte = Number.NaN] = regression(rows);
    expect(launch).toBeCloseTo(stacks.cudnn.betweenKernels, 2);
    // Weights come from DRAM, at 4.2 TB/s or a little more.
    expect(megabyte).toBeGreaterThan(0.15);
    expect(megabyte).toBeLessThan(0.25);
  });

  it("is in the account of models, and not in that of rows", () => {
    const [alone, among] = [createCostModel(), createCostModel({ inModels: true })].map((cost) =>
      (["cudnn", "ort-cuda"] as const).map((stack) =>
        cost.estimate(gemm(256, 256, 256), targetOf("h200", stack)),
      ),
    );
    const more = among?.map(({ microseconds }, at) => microseconds - (alone?.[at]?.microseconds ?? 0)) ?? [];
    expect(more[0]).toBeCloseTo(stacks.cudnn.betweenKernels);
    expect(more[1]).toBe(0);
  });
});
