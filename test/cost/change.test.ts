/** @file How far a predicted ratio may be off: by the features of both sides, in either order, for kinds that were measured. */
import { describe, expect, test } from "vitest";
import { type ChangeModel, changeFeatures, kindOfChange, ratioRange } from "../../src/cost/change.ts";
import { h200Calibration } from "../../src/cost/coefficients/h200-cudnn.ts";
import { createCostModel, type Run } from "../../src/cost/model.ts";
import { sketch, type WorkDetail } from "../../src/cost/terms.ts";
import type { Precision } from "../../src/hardware/target.ts";
import type { Work } from "../../src/ops/work.ts";
import { conv, gemm, targetOf } from "./targets.ts";

const model = createCostModel();

function runOf(work: Work<number>, precision: Precision = "as-is", detail: WorkDetail = {}): Run {
  return { work, target: { ...targetOf(), precision }, detail, runs: 1 };
}

function sideOf(work: Work<number>, once: number) {
  return { sketch: sketch(work, targetOf(), h200Calibration.coefficients), once, above: 0.1 };
}

describe("a ratio's range", () => {
  const spread = { predict: (features: readonly number[]) => (features.length > 0 ? Math.log(0.1) : 0) };
  const measured: ChangeModel = { spread, ranges: { padding: { low: -1, high: 3 } } };
  const [odd, even] = [sideOf(gemm(512, 1001, 512), 20), sideOf(gemm(512, 1008, 512), 10)];

  test("is that of the error's size; the way back is the same error the other way round", () => {
    const [there, back] = [ratioRange(measured, odd, even), ratioRange(measured, even, odd)];
    expect(there?.low).toBeCloseTo(-0.1);
    expect(there?.high).toBeCloseTo(0.3);
    expect(back?.low).toBeCloseTo(-0.3);
    expect(back?.high).toBeCloseTo(0.1);
    expect(changeFeatures(odd, even)).toEqual(changeFeatures(even, odd));
  });

  test("is unknown where no such change was measured", () => {
    const half = sideOf({ ...gemm(512, 1001, 512), dtype: "float32" }, 40);
    expect(kindOfChange(half.sketch, odd.sketch)).toBe("precision");
    expect(ratioRange(measured, half, odd)).toBeUndefined();
    const [first, last] = (["nchw", "nhwc"] as const).map((layout) =>
      sideOf(conv({ channels: 64, filters: 64, side: 56, layout }), 9),
    );
    if (first === undefined || last === undefined) throw new Error("two layouts make two sides");
    expect(kindOfChange(first.sketch, last.sketch)).toBe("layout");
  });
});

describe("the committed fit's savings", () => {
  const changes: [string, Run, Run][] = [
    ["padding", runOf(gemm(2048, 1001, 768)), runOf(gemm(2048, 1008, 768))],
    ["precision", runOf({ ...gemm(2048, 1024, 768), dtype: "float32" }), runOf(gemm(2048, 1024, 768))],
    [
      "layout",
      runOf(conv({ channels: 64, filters: 64, side: 56, layout: "nchw" })),
      runOf(conv({ channels: 64, filters: 64, side: 56 })),
    ],
  ];

  test.each(changes)(
    "of %s enclose the difference of the two estimates, in both directions",
    (_, from, to) => {
      const [there, back] = [model.savingOfRuns(from, to), model.savingOfRuns(to, from)];
      const [before, after] = [from, to].map(({ work, target }) => model.estimate(work, target).microseconds);
      expect(there.microseconds).toBeCloseTo((before ?? 0) - (after ?? 0), 9);
      expect(back.microseconds).toBeCloseTo(-there.microseconds, 9);
      for (const { low, microseconds, high } of [there, back]) {
        expect(low).toBeLessThan(microseconds);
        expect(high).toBeGreaterThan(microseconds);
      }
      // Who is sure of a gain there is sure of a loss back.
      expect(there.low > 0).toBe(back.high < 0);
    },
  );

  test("scale with the runs", () => {
    const [, from, to] = changes[0] ?? [];
    if (from === undefined || to === undefined) throw new Error("no change to repeat");
    const [once, often] = [
      model.savingOfRuns(from, to),
      model.savingOfRuns({ ...from, runs: 7 }, { ...to, runs: 7 }),
    ];
    expect(often.low).toBeCloseTo(7 * once.low, 6);
    expect(often.high).toBeCloseTo(7 * once.high, 6);
  });

  test("of a GPU of the same generation are less certain", () => {
    const [, from, to] = changes[0] ?? [];
    if (from === undefined || to === undefined) throw new Error("no change to compare");
    const widthOn = (gpu: string) => {
      const [before, after] = [from, to].map((run) => ({ ...run, target: targetOf(gpu) }));
      const { low, microseconds, high } = model.savingOfRuns(before, after);
      return (high - low) / Math.abs(microseconds);
    };
    expect(widthOn("h100")).toBeGreaterThan(1.2 * widthOn("h200"));
  });
});
