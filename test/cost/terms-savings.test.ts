/** @file What a change saves where the terms stand alone: most of what was measured of changes lies inside, and what hardly changes is surer than the time itself. */
import { describe, expect, test } from "vitest";
import { sketchOf } from "../../scripts/fit/analytic.ts";
import { loadSamples, type Sample } from "../../scripts/fit/data.ts";
import { pairsOf } from "../../scripts/fit/pairs.ts";
import type { Range } from "../../src/cost/calibration.ts";
import { h200Calibration } from "../../src/cost/coefficients/h200-cudnn.ts";
import { createCostModel, type Evaluation } from "../../src/cost/model.ts";
import { savingOfOne, type Timed } from "../../src/cost/saving.ts";
import type { Family } from "../../src/cost/sketch.ts";
import { negated } from "../../src/workload/change.ts";
import { sharedPath } from "../shared.ts";
import { elementwise, gemm, targetOf } from "./targets.ts";

const cost = createCostModel();
const gpus = ["l4", "t4", "a100"] as const;

describe.each(gpus)("on %s, which nobody measured", (gpu) => {
  const target = targetOf(gpu, "ort-cuda");

  const widthOf = ({ low, high }: Range) => high - low;

  test("what hardly changes is surer than the time itself: most of the error is that of both", () => {
    const changes = [
      ...[1e3, 1e5, 1e6, 1e7].map((size) => [elementwise(size), elementwise(1.01 * size)] as const),
      [gemm(512, 1024, 1024), gemm(512, 1032, 1024)] as const,
      [gemm(64, 4096, 1024), gemm(64, 4104, 1024)] as const,
    ];
    for (const [before, after] of changes) {
      const saved = cost.savingOf([before], [after], target);
      expect(widthOf(saved)).toBeLessThan(0.8 * widthOf(cost.estimate(before, target)));
    }
  });

  test("there and back are one change", () => {
    const [before, after] = [gemm(512, 1030, 1024), gemm(512, 1032, 1024)];
    const back = negated(cost.savingOf([after], [before], target));
    const { low, high } = cost.savingOf([before], [after], target);
    expect(back.low).toBeCloseTo(low, 9);
    expect(back.high).toBeCloseTo(high, 9);
  });
});

/** As where nobody measured, with intervals as wide as on the GPU that was. */
function byTerms(samples: readonly Sample[], family: Family): Timed[] {
  const { low, high } = h200Calibration.analytic[family];
  return samples.map((sample) => {
    const sketch = sketchOf(sample, h200Calibration.coefficients);
    const { microseconds } = sketch;
    const evaluation: Evaluation = {
      ...{ sketch, microseconds, once: microseconds, above: Math.log(high), below: -Math.log(low) },
      ...{ shared: 0.5, savingScale: 1, change: undefined, widening: 1, isOfTerms: true },
    };
    return { evaluation, microseconds };
  });
}

const inputs = sharedPath("measurements") === undefined ? undefined : loadSamples();

/** Percent of changes that were measured as such; products in another format take other kernels than terms know, passes save less by half of their bytes. */
const expected: readonly (readonly [Family, least: number])[] = [
  ["gemm", 85],
  ["conv", 84],
  ["attention", 80],
  ["traffic", 84],
  ["walk", 90],
];

test.skipIf(inputs === undefined).each(expected)(
  "%s: %i of a hundred measured savings and more lie inside",
  (family, least) => {
    const samples = inputs?.samples.filter((sample) => sample.family === family) ?? [];
    const timed = byTerms(samples, family);
    let [inside, count] = [0, 0];
    for (const { before, after, asChange } of pairsOf(samples)) {
      const saved = (samples[before]?.microseconds ?? 0) - (samples[after]?.microseconds ?? 0);
      const { low, high } = savingOfOne(timed[before], timed[after]);
      // What makes no difference to the terms has no interval.
      if (!asChange || low === high) continue;
      count++;
      if (saved >= low && saved <= high) inside++;
    }
    expect(count).toBeGreaterThan(200);
    expect((100 * inside) / count).toBeGreaterThanOrEqual(least);
  },
);
