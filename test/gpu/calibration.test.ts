/** @file Calibration without a GPU: the sweep is planned, and a fit to made-up times is one that lint accepts. */
import onnxProto from "onnx-proto";
import { describe, expect, it } from "vitest";
import { h200 } from "../../cuda-runtime/ir/step.ts";
import { checkCalibration } from "../../src/cost/check-calibration.ts";
import { createCostModel } from "../../src/cost/model.ts";
import { calibrationOf } from "../../src/gpu/calibration.ts";
import { sweep } from "../../src/gpu/sweep.ts";
import { counts, sweepPlan } from "../../src/gpu/sweep-run.ts";
import { findGpu } from "../../src/hardware/gpus.ts";
import { stacks } from "../../src/hardware/stacks.ts";
import type { Target } from "../../src/hardware/target.ts";

const device = {
  index: 0,
  name: "NVIDIA H200",
  computeCapability: 90,
  totalBytes: 141e9,
  multiprocessors: 132,
  sharedBytesPerBlock: 232_448,
  l2Bytes: 60e6,
  clockMegahertz: 1980,
  memoryBytesPerSecond: 4.8e12,
};

describe("calibrate", () => {
  const items = sweep();

  it("plans every item of its sweep, with a step that counts", () => {
    for (const item of items) {
      const { steps } = sweepPlan(item, h200, onnxProto.onnx);
      const counted = steps.filter((step) => counts(step, item)).length;
      expect(counted, JSON.stringify(item.model)).toBeGreaterThan(0);
    }
  });

  it("writes a calibration that lint takes and that predicts what was measured", () => {
    const gpu = findGpu("h200");
    if (gpu === undefined) throw new Error("no row of an H200");
    const target: Target = { gpu, stack: stacks["tc-runtime"], precision: "as-is" };
    const plain = createCostModel();
    // Everything takes 1.4 times as long as the committed terms say of this stack, and 2 µs more.
    const microseconds = items.map(
      ({ work, variant }) => 1.4 * plain.estimate(work, target, { variant, biased: false }).microseconds + 2,
    );
    const report = {
      kind: "sweep",
      device,
      driverVersion: 13_000,
      microseconds,
      cacheProblem: undefined,
    } as const;
    const { calibration, lines } = calibrationOf(items, report);
    expect(checkCalibration(JSON.parse(JSON.stringify(calibration)))).toHaveProperty("calibration");
    expect(lines).toHaveLength(4);
    const fitted = createCostModel({ calibration });
    const errors = items.map(({ work, variant }, index) => {
      const own = fitted.estimate(work, target, { variant, biased: false }).microseconds;
      return Math.abs(Math.log(own / (microseconds[index] ?? 1)));
    });
    const mean = errors.reduce((sum, error) => sum + error, 0) / errors.length;
    expect(mean).toBeLessThan(0.2);
    expect(fitted.kinship(target)).toBe("measured");
  });
});
