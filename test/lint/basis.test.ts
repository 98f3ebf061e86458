/** What a prediction is said to rest on: nothing was measured in FP64, nor in 8 bits, whatever else was on the same GPU. */
import { expect, it } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { lint } from "../../src/api/lint.ts";
import type { LintOptions } from "../../src/index.ts";
import type { DType } from "../../src/ir/dtype.ts";

function products(dtype: DType): Uint8Array {
  return model({ name: "products", opset: 22 }, (graph) => {
    const h = graph.node("MatMul", [
      graph.input("x", [512, 1024], dtype),
      graph.weight([1024, 4096], { dtype }),
    ]);
    graph.output(graph.node("MatMul", [graph.node("Relu", [h]), graph.weight([4096, 1024], { dtype })]));
  });
}

it.each([
  ["float64", "fp16", "cudnn", "datasheet"],
  ["float64", "as-is", "ort-cuda", "datasheet"],
  ["float32", "int8", "ort-cuda", "datasheet"],
  ["float32", "fp16", "ort-cuda", "kernels"],
  ["float32", "fp16", "cudnn", "measured"],
  ["float16", "bf16", "cudnn", "measured"],
  ["float32", "tf32", "cudnn", "measured"],
  ["float64", "as-is", "tc-runtime", "planned"],
  ["float32", "fp16", "tc-runtime", "planned"],
] as const)("%s at %s on %s rests on: %s", async (dtype, precision, stack, basis) => {
  const options: LintOptions = { precision, stack, gpu: "h200" };
  expect((await lint(products(dtype), options)).predicted.basis).toBe(basis);
});

it.each([
  ["h100", "fp16", "scaled"],
  ["h100", "int8", "datasheet"],
  ["a100", "fp16", "datasheet"],
] as const)("on %s at %s rests on: %s", async (gpu, precision, basis) => {
  const options: LintOptions = { gpu, precision, stack: "ort-cuda" };
  expect((await lint(products("float32"), options)).predicted.basis).toBe(basis);
});
