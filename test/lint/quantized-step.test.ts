/** A step to INT8 of a file that is quantized asks nobody to quantize it: what is left is a matter of what runs it. */
import { describe, expect, test } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { float8Mlp } from "../../fixtures/quantized.ts";
import { lint as lintModel } from "../../src/api/lint.ts";
import type { StackId } from "../../src/hardware/stacks.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { accountCells } from "../../src/report/account-text.ts";
import { lint } from "../rules/lint.ts";

/** Products of codes, of which some may be left in floats. */
function products({
  quantized,
  floats,
}: {
  readonly quantized: number;
  readonly floats: number;
}): Uint8Array {
  return model({ name: "quantized", opset: 19, irVersion: 9 }, (graph) => {
    const scale = graph.weight([], { dtype: "float32", values: [0.0625] });
    const zero = graph.weight([], { dtype: "int8", values: [0] });
    let x = graph.input("x", [4096, 1024]);
    for (let layer = 0; layer < quantized; layer++) {
      const codes = graph.weight([1024, 1024], { dtype: "int8", values: new Array<number>(2 ** 20).fill(1) });
      const a = graph.node("DequantizeLinear", [graph.node("QuantizeLinear", [x, scale, zero]), scale, zero]);
      x = graph.node("MatMul", [a, graph.node("DequantizeLinear", [codes, scale, zero])]);
    }
    for (let layer = 0; layer < floats; layer++) x = graph.node("MatMul", [x, graph.weight([1024, 1024])]);
    graph.output(x);
  });
}

function stepOf(bytes: Uint8Array, stack: StackId) {
  const report = lint(modelFromBytes(bytes), { precision: "int8", stack, gpu: "h100" });
  const step = report.account.find(({ step: name }) => name === "precision");
  return { report, step, how: step && accountCells(step, report.account)[3] };
}

describe("a step to INT8", () => {
  test.each([
    ["of floats", { quantized: 0, floats: 2 }, "ort-cuda", undefined, "once somebody has quantized it"],
    [
      "of some codes",
      { quantized: 1, floats: 1 },
      "ort-cuda",
      "some",
      "once somebody has quantized the rest",
    ],
    [
      "of codes that run as floats",
      { quantized: 2, floats: 0 },
      "ort-cuda",
      "as-floats",
      "where its codes are multiplied (TC205)",
    ],
  ] as const)("%s says what makes it", (_, sizes, stack, quantized, text) => {
    const { report, step, how } = stepOf(products(sizes), stack);
    expect(step?.quantized).toBe(quantized);
    expect(how).toBe(text);
    // What the step names is there.
    expect(report.findings.some(({ code }) => code === "TC205")).toBe(
      quantized === "as-floats" || quantized === "some",
    );
  });

  test.each(["tensorrt", "tc-runtime"] as const)(
    "is none of codes that run as such, on %s",
    async (stack) => {
      const bytes = products({ quantized: 2, floats: 0 });
      const [asked, stored] = await Promise.all(
        (["int8", "as-is"] as const).map((precision) => lintModel(bytes, { precision, stack, gpu: "h100" })),
      );
      expect(asked?.account).toEqual(stored?.account);
      expect(asked?.predicted).toEqual(stored?.predicted);
      expect(asked?.notices.map(({ code }) => code)).toContain("quantized-already");
    },
  );

  test("of 8-bit floats is of codes as well", () => {
    expect(stepOf(float8Mlp({ rows: 4096, widths: [4096, 4096] }), "ort-cuda").how).toMatch(/TC205/);
  });

  test("names TC205 where the rule finds it with other precisions, too", () => {
    const codes = (precision: "int8" | "fp16" | "as-is") =>
      lint(modelFromBytes(products({ quantized: 2, floats: 0 })), { precision, stack: "ort-cuda" })
        .findings.filter(({ code }) => code === "TC205")
        .map(({ message }) => message.replace(/:.*/, ""));
    expect(codes("int8")).toEqual(codes("as-is"));
    expect(codes("fp16")).toEqual(codes("as-is"));
  });
});
