/** @file What a model has on Tensor Cores on the bundled runtime is its plan's, wherever it is said. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { float8Mlp } from "../../fixtures/quantized.ts";
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
      // To the last digit.
      expect(predicted.microseconds).toBe(planned.predictedMicroseconds);
      expect(predicted.tensorCoreShare).toBe(planned.tensorCoreShare);
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

it.each(["qdq", "float8"] as const)(
  "codes that no fix stores in FP16 are planned as lint tells of them, unless a precision is named: %s",
  async (kind) => {
    const folder = mkdtempSync(path.join(tmpdir(), "tc-lint-codes-"));
    const file = path.join(folder, "model.onnx");
    writeFileSync(file, kind === "qdq" ? quantizedMlp() : float8Mlp({ rows: 256, widths: [512, 512, 512] }));
    const notices: string[] = [];
    const { predicted, account } = await lint(file, { stack: "tc-runtime" });
    const planned = await plan(file, { onNotice: (message) => notices.push(message) });
    expect(planned.predictedMicroseconds).toBe(predicted.microseconds);
    expect(planned.tensorCoreShare).toBe(predicted.tensorCoreShare);
    expect(account.map(({ precision }) => precision)).toEqual(["as-is"]);
    expect(planned.precision).toBe("model as exported");
    expect(notices.join()).toContain("no fix stores it in FP16: planned in the types that it stores");
    const inHalf = await plan(file, { precision: "fp16" });
    expect(inHalf.precision).toContain("fp16");
    expect(inHalf.predictedMicroseconds).not.toBe(predicted.microseconds);
    rmSync(folder, { recursive: true });
  },
);

/** INT8 as ONNX Runtime's quantizer leaves Linear layers. */
function quantizedMlp(): Uint8Array {
  const width = 256;
  return model({ name: "quantized-mlp", opset: 19, irVersion: 9 }, (graph) => {
    const scale = graph.weight([], { dtype: "float32", values: [0.0625] });
    const zero = graph.weight([], { dtype: "int8", values: [0] });
    const dequantized = (codes: string) => graph.node("DequantizeLinear", [codes, scale, zero]);
    let x = graph.input("x", [64, width]);
    for (let layer = 0; layer < 3; layer++) {
      const values = new Array<number>(width * width).fill(1);
      const weights = dequantized(graph.weight([width, width], { dtype: "int8", values }));
      const operand = dequantized(graph.node("QuantizeLinear", [x, scale, zero]));
      x = graph.node("Relu", [graph.node("MatMul", [operand, weights])]);
    }
    graph.output(x);
  });
}

it("a skinny product in FP16 is on none, though the cost model's kernel is", async () => {
  const { layers = [] } = await lint(zooModel("misaligned_cnn"), { stack: "tc-runtime", layers: true });
  expect(layers.find(({ node }) => node === "/fc/Gemm")).toMatchObject({ tensorCore: false });
});
