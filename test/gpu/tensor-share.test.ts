/** @file What a model has on Tensor Cores on the bundled runtime is its plan's, wherever it is said. */
import { describe, expect, it } from "vitest";
import { plan } from "../../src/api/bench.ts";
import { lint } from "../../src/api/lint.ts";
import { percent } from "../../src/ir/format.ts";
import { renderPlanText } from "../../src/report/bench-text.ts";
import { reportOf } from "../../src/report/summary.ts";
import { renderText } from "../../src/report/text.ts";
import { options } from "../report/sample.ts";
import { eachModel, zooModel } from "../zoo.ts";

describe.each(["fp16", "fp32", "tf32"] as const)("in %s", (precision) => {
  eachModel(["c3d", "crnn", "misaligned_cnn", "mobilenet_v2", "resnet50", "vit_tiny", "yolo"])(
    "%s: lint, its text and the plan have one share",
    async (name) => {
      const report = await lint(zooModel(name), { stack: "tc-runtime", precision, layers: true });
      const planned = await plan(zooModel(name), { precision, fix: false });
      const { predicted, layers = [] } = report;
      expect(predicted.microseconds).toBeCloseTo(planned.predictedMicroseconds, 6);
      expect(predicted.tensorCoreShare).toBeCloseTo(planned.tensorCoreShare, 9);
      expect(planned.tensorCoreShare).toBeGreaterThan(precision === "fp32" ? -1 : 0);
      if (precision === "fp32") expect(planned.tensorCoreShare).toBe(0);
      const words = `${percent(planned.tensorCoreShare)} on Tensor Cores`;
      expect(renderText(reportOf([report], "1"), options)).toContain(words);
      expect(renderPlanText(planned, { color: 0, verbose: false })).toContain(words);
      // Layers have those alone that a launch of it is on.
      const most = layers.filter(({ tensorCore }) => tensorCore).reduce((sum, { share }) => sum + share, 0);
      expect(most).toBeGreaterThanOrEqual(predicted.tensorCoreShare - 1e-9);
    },
    60_000,
  );
});

it("a skinny product in FP16 is on none, though the cost model's kernel is", async () => {
  const { layers = [] } = await lint(zooModel("misaligned_cnn"), { stack: "tc-runtime", layers: true });
  expect(layers.find(({ node }) => node === "/fc/Gemm")).toMatchObject({ tensorCore: false });
});
