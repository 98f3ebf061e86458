import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { predictModel } from "../../bench/whole-model.ts";
import { sharedPath } from "../shared.ts";
import { isWholeZoo, zooModel } from "../zoo.ts";

interface MeasuredRow {
  readonly model: string;
  readonly batch: number;
  readonly mode: string;
  readonly us: number;
}

const measured = sharedPath("measurements/h200-pytorch-models.json");

describe.skipIf(measured === undefined || !isWholeZoo)("predicted time of whole models", () => {
  it("is near what an H200 takes", () => {
    const { models } = JSON.parse(readFileSync(measured ?? "", "utf8")) as { models: readonly MeasuredRow[] };
    const rows = models
      .filter(({ mode }) => mode === "fp16_nhwc")
      .map(({ model, batch, us }) => predictModel(zooModel(model), model, batch, us));
    const factors = rows.map(({ predicted, measuredMicroseconds: us }) => predicted / us);
    const errors = factors.map((factor) => Math.abs(factor - 1)).sort((a, b) => a - b);
    expect(rows).toHaveLength(30);
    expect(errors[15]).toBeLessThanOrEqual(0.22);
    const far = rows.filter((_, index) => Math.abs(Math.log2(factors[index] ?? 0)) > 1);
    expect(far.map(({ model, batch }) => `${model} at ${batch}`)).toEqual([]);
  });
});
