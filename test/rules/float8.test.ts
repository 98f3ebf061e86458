import { describe, expect, it } from "vitest";
import { float8Mlp } from "../../fixtures/quantized.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { findingsIn, type LintOptions, lint } from "./lint.ts";

const aligned = { rows: 512, widths: [256, 512, 256] };

function reasons(bytes: Uint8Array, options: LintOptions): string[] {
  return findingsIn(bytes, options).flatMap(({ code, message }) => (code === "TC205" ? [message] : []));
}

describe("products of FP8 codes", () => {
  it.each(["tensorrt", "tc-runtime"] as const)("are FP8 with %s on a GPU that has it", (stack) => {
    expect(reasons(float8Mlp(aligned), { gpu: "h100", stack })).toEqual([]);
  });

  it("run on floats where the stack multiplies no codes", () => {
    const [message, ...others] = reasons(float8Mlp(aligned), { gpu: "h100", stack: "ort-cuda" });
    expect(others).toEqual([]);
    expect(message).toMatch(
      /^2 of 2 products are of dequantized FP8 codes, which ort-cuda multiplies as floats/,
    );
  });

  it("run on floats where the GPU has no FP8 Tensor Cores, though it multiplies INT8", () => {
    const [message] = reasons(float8Mlp(aligned), { gpu: "a100", stack: "tensorrt" });
    expect(message).toMatch(/A100.* has no FP8 Tensor Cores: they run on floats/);
  });

  it("run on floats where the stack takes one format alone", () => {
    const e5m2 = float8Mlp({ ...aligned, formats: ["float8e5m2", "float8e4m3fn"] });
    expect(reasons(e5m2, { gpu: "h100", stack: "tensorrt" })[0]).toMatch(
      /E5M2, and tensorrt multiplies E4M3 alone/,
    );
    expect(reasons(e5m2, { gpu: "h100", stack: "tc-runtime" })).toEqual([]);
  });

  it("off 16 bytes are misaligned FP8", () => {
    const odd = float8Mlp({ rows: 2048, widths: [1000, 4092, 1000] });
    const found = findingsIn(odd, { gpu: "h100", stack: "tc-runtime" }).filter(
      ({ code }) => code === "TC204",
    );
    // K alone: results of any width are stored as they are.
    const changes = found.map(({ data }) => [data["format"], data["multiple"], data["change"]]);
    expect(changes).toContainEqual(["FP8", 16, "K from 1000 to 1024"]);
    for (const change of changes) expect(change).toEqual(["FP8", 16, expect.stringMatching(/^K from /)]);
  });

  it("at a prediction in INT8 are told how they run otherwise, and of whom that is to be asked", () => {
    const model = modelFromBytes(float8Mlp({ rows: 4096, widths: [4096, 4096] }));
    const { findings, notices } = lint(model, { gpu: "h100", stack: "ort-cuda", precision: "int8" });
    expect(findings.filter(({ code }) => code === "TC205")).toHaveLength(1);
    expect(notices.map(({ code }) => code)).toContain("quantized-already");
  });

  it("take less than the same products on floats", () => {
    const model = modelFromBytes(float8Mlp({ rows: 4096, widths: [4096, 4096] }));
    const [codes, floats] = (["tensorrt", "ort-cuda"] as const).map(
      (stack) => lint(model, { gpu: "h100", stack }).predicted.microseconds,
    );
    expect(codes).toBeLessThan(floats ?? 0);
  });
});
