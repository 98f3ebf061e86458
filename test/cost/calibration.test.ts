import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { calibrationSchema } from "../../scripts/calibration-schema.ts";
import type { Calibration } from "../../src/cost/calibration.ts";
import { checkCalibration } from "../../src/cost/check-calibration.ts";
import { h200Calibration } from "../../src/cost/coefficients/h200-cudnn.ts";
import { createCostModel } from "../../src/cost/model.ts";
import { elementwise, gemm, targetOf } from "./targets.ts";

const minimal: Calibration = {
  schema: 1,
  gpu: "l4",
  stack: "cudnn",
  source: "my machine",
  coefficients: { gemm: { launch: 9 } },
};

function changed(change: object) {
  return { ...minimal, residuals: { gemm: { ...h200Calibration.residuals.gemm, change } } };
}

describe("a calibration", () => {
  test("overrides what it names, for its own target, and makes it measured", () => {
    const [plain, calibrated] = [createCostModel(), createCostModel({ calibration: minimal })];
    const l4 = targetOf("l4");
    const tiny = gemm(8, 8, 8);
    const gained = calibrated.estimate(tiny, l4).microseconds - plain.estimate(tiny, l4).microseconds;
    expect(gained).toBeCloseTo(9 - h200Calibration.coefficients.gemm.launch, 6);
    expect([plain, calibrated].map((each) => each.kinship(l4) === "measured")).toEqual([false, true]);
    for (const other of [targetOf("h200"), targetOf("a100")]) {
      expect(calibrated.estimate(tiny, other)).toEqual(plain.estimate(tiny, other));
    }
    // Its generation profits, and is not measured for that.
    expect(calibrated.kinship(targetOf("rtx4090"))).not.toBe("measured");
    expect(calibrated.estimate(tiny, targetOf("rtx4090"))).not.toEqual(
      plain.estimate(tiny, targetOf("rtx4090")),
    );
    expect(calibrated.estimate(elementwise(64), l4).microseconds).toBe(
      plain.estimate(elementwise(64), l4).microseconds,
    );
  });

  test("without a residual leaves the terms alone: the committed residual belongs to the committed terms", () => {
    const own = { ...minimal, gpu: "h200", coefficients: { gemm: h200Calibration.coefficients.gemm } };
    const work = gemm(4096, 4097, 4096);
    const [fitted, plain] = [createCostModel(), createCostModel({ calibration: own })];
    expect(plain.estimate(work, targetOf()).microseconds).not.toBe(
      fitted.estimate(work, targetOf()).microseconds,
    );
    expect(plain.estimate(elementwise(1e6), targetOf())).toEqual(
      fitted.estimate(elementwise(1e6), targetOf()),
    );
  });

  test("the committed fit is one, also after a trip through JSON", () => {
    expect(checkCalibration(JSON.parse(JSON.stringify(h200Calibration)))).toHaveProperty("calibration");
    expect(checkCalibration(minimal)).toEqual({ calibration: minimal });
  });

  test.each<[string, unknown, RegExp]>([
    ["no object", [], /an object/],
    ["no version", { ...minimal, schema: 2 }, /"schema" is not 1/],
    ["an unknown GPU", { ...minimal, gpu: "gtx" }, /"gpu" is none of t4/],
    ["an alias", { ...minimal, gpu: "h100-sxm" }, /"gpu" is none of/],
    ["an unknown stack", { ...minimal, stack: 3 }, /"stack" is none of ort-cuda/],
    ["no source", { ...minimal, source: undefined }, /"source"/],
    [
      "an unknown family",
      { ...minimal, coefficients: { gem: {} } },
      /"coefficients.gem" is unknown; known: gemm/,
    ],
    [
      "an unknown coefficient",
      { ...minimal, coefficients: { gemm: { lunch: 1 } } },
      /"coefficients.gemm.lunch" is unknown/,
    ],
    [
      "a coefficient of 0",
      { ...minimal, coefficients: { gemm: { launch: 0 } } },
      /launch" is not a number above 0/,
    ],
    [
      "a number for a record",
      { ...minimal, coefficients: { gemm: 3 } },
      /"coefficients.gemm" is not an object/,
    ],
    ["no number", { ...minimal, coefficients: { gemm: { perClock: { on2: "4" } } } }, /perClock.on2" is not/],
    [
      "a range the wrong way",
      { ...minimal, residuals: { gemm: { range: { low: 1, high: 2 } } } },
      /"range" does not/,
    ],
    [
      "a broken table",
      {
        ...minimal,
        residuals: {
          gemm: {
            ...h200Calibration.residuals.gemm,
            mean: { ...h200Calibration.residuals.gemm.mean, trees: 1 },
          },
        },
      },
      /"residuals.gemm": "mean": forest table/,
    ],
    [
      "an unknown kind of change",
      changed({ ranges: { fusing: { low: -1, high: 1 } } }),
      /change.ranges.fusing" is/,
    ],
    [
      "a change's range the wrong way",
      changed({ ranges: { padding: { low: 1, high: 2 } } }),
      /padding" does not/,
    ],
    ["a change without a table", changed({ ranges: {} }), /"change.spread" is not a table/],
  ])("with %s is refused", (_, value, problem) => {
    expect(checkCalibration(value)).toEqual({ problem: expect.stringMatching(problem) });
  });
});

describe("schemas/calibration.schema.json", () => {
  const written = JSON.parse(
    readFileSync(new URL("../../schemas/calibration.schema.json", import.meta.url), "utf8"),
  );

  test("is what npm run schemas writes", () => {
    expect(written).toEqual(JSON.parse(JSON.stringify(calibrationSchema())));
  });

  test("accepts what tc-lint accepts, and refuses what it refuses", () => {
    const accepts = new Ajv2020({ strict: false }).compile(written);
    for (const good of [minimal, h200Calibration])
      expect(accepts(JSON.parse(JSON.stringify(good)))).toBe(true);
    const bad = { ...minimal, coefficients: { gemm: { lunch: 1 } } };
    for (const refused of [bad, { ...minimal, schema: 2 }, { ...minimal, gpu: "gtx" }]) {
      expect(accepts(refused)).toBe(false);
    }
  });
});
