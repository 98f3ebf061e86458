import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { model as modelOf } from "../../fixtures/builder.ts";
import { createCostModel } from "../../src/cost/model.ts";
import { gpus } from "../../src/hardware/gpus.ts";
import { stackIds } from "../../src/hardware/stacks.ts";
import type { DType } from "../../src/ir/dtype.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import type { Work } from "../../src/ops/work.ts";
import { lint } from "../rules/lint.ts";
import { attention, conv, gemm, targetOf } from "./targets.ts";

const model = createCostModel();
const asFloat64 = <W extends Work<number>>(work: W): W => ({ ...work, dtype: "float64" });
const products = [
  gemm(1024, 1023, 1001),
  gemm(64, 4096, 4096),
  conv({ channels: 61, filters: 125, side: 28 }),
  conv({ channels: 64, filters: 64, side: 28, groups: 64 }),
  attention(64, 512),
].map(asFloat64);

/** Of the same shapes: half the bytes. */
function inFloat32(work: Work<number>): Work<number>[] {
  const dtype = "float32";
  if (work.kind === "traffic")
    return [{ ...work, dtype, bytesRead: work.bytesRead / 2, bytesWritten: work.bytesWritten / 2 }];
  return work.kind === "conv"
    ? [
        { ...work, dtype, layout: "nchw" },
        { ...work, dtype, layout: "nhwc" },
      ]
    : [{ ...work, dtype }];
}

const passes = (["elementwise", "copy", "reduction", "normalization", "pool"] as const).flatMap((pattern) =>
  [256, 65_536].map((rows): Work<number> => {
    const bytes = 8 * rows * 510;
    return {
      kind: "traffic",
      pattern,
      rows,
      columns: 510,
      bytesRead: bytes,
      bytesWritten: bytes,
      dtype: "float64",
    };
  }),
);

/** Sizes on and off every multiple, from launches to what fills the GPU. */
function drawn(): Work<number>[] {
  const sizes = fc.sample(fc.array(fc.integer({ min: 1, max: 2100 }), { minLength: 3, maxLength: 3 }), {
    numRuns: 20,
    seed: 1,
  });
  return sizes.map(([m = 1, n = 1, k = 1]) => asFloat64(gemm(m, n, k)));
}

describe("products in FP64", () => {
  it.each([...gpus.keys()])("take no less than the data sheet promises, on %s", (gpu) => {
    for (const work of products) {
      const { microseconds, low, high, flops } = model.estimate(work, targetOf(gpu));
      const { cuda, tensor = cuda } = gpus.get(gpu)?.float64Tflops ?? { cuda: 0 };
      expect(flops / microseconds / 1e6).toBeLessThan(tensor);
      // Nobody measured one.
      expect(high / microseconds).toBeGreaterThanOrEqual(2.99);
      expect(microseconds / low).toBeGreaterThanOrEqual(1.99);
    }
  });

  it("are not on the Tensor Cores of a GPU that multiplies none there: 64 times the operations of FP32", () => {
    const [double, single] = (["float64", "float32"] as const).map((dtype) =>
      model.estimate({ ...gemm(4096, 4096, 4096), dtype }, targetOf("l4")),
    );
    expect(double?.tensorCore).toBe(false);
    expect((double?.microseconds ?? 0) / (single?.microseconds ?? 1)).toBeGreaterThan(40);
  });

  it("move 8 bytes an element", () => {
    const [double, half] = [asFloat64(gemm(64, 512, 256)), gemm(64, 512, 256)];
    expect(model.estimate(double, targetOf()).bytes).toBe(4 * model.estimate(half, targetOf()).bytes);
  });

  it.each([...gpus.keys()])("take no less than the same in FP32, whatever that runs as, on %s", (gpu) => {
    for (const stack of stackIds)
      for (const work of [...products, ...drawn(), ...passes]) {
        const double = model.estimate(work, targetOf(gpu, stack)).microseconds;
        for (const precision of ["as-is", "fp32"] as const)
          for (const single of inFloat32(work))
            expect(model.estimate(single, targetOf(gpu, stack, precision)).microseconds).toBeLessThanOrEqual(
              double,
            );
      }
  });

  it("are the same whatever precision a stack is asked for", () => {
    for (const stack of stackIds)
      for (const precision of ["fp16", "bf16", "tf32", "fp32", "int8"] as const)
        for (const work of products)
          expect(model.estimate(work, targetOf("h200", stack, precision)).microseconds).toBe(
            model.estimate(work, targetOf("h200", stack, "as-is")).microseconds,
          );
  });
});

/** An odd convolution, and an odd Linear behind it. */
function network(dtype: DType): Uint8Array {
  return modelOf({ name: "net", opset: 17 }, (graph) => {
    const image = graph.input("x", [8, 61, 56, 56], dtype);
    const seen = graph.node("Conv", [image, graph.weight([125, 61, 3, 3], { dtype })]);
    const rows = graph.node("Flatten", [graph.node("GlobalAveragePool", [seen])]);
    graph.output(graph.node("MatMul", [rows, graph.weight([125, 1001], { dtype })]), dtype);
  });
}

describe("a model in FP64", () => {
  it.each(stackIds)("takes no less than its twin in FP32, on %s", (stack) => {
    for (const gpu of ["h200", "a100", "b200", "l4", "t4"])
      for (const precision of ["as-is", "fp32"] as const) {
        const [double, single] = (["float64", "float32"] as const).map(
          (dtype) => lint(modelFromBytes(network(dtype)), { gpu, stack, precision }).predicted.microseconds,
        );
        expect(double).toBeGreaterThanOrEqual(single ?? Number.NaN);
      }
  });

  it.each(stackIds)("has no step to half, no padding and no layout that saves, on %s", (stack) => {
    for (const gpu of ["h200", "l4"]) {
      const report = lint(modelFromBytes(network("float64")), { gpu, stack });
      expect(report.findings.map(({ code }) => code)).toEqual([]);
      expect(report.account.filter(({ saves }) => (saves?.low ?? 0) > 0)).toEqual([]);
      expect(report.notices.map(({ message }) => message).join()).toMatch(
        /^2 of 2 products are in FP64, which no --precision changes and no fix stores otherwise/,
      );
    }
  });

  it("is not told of FP32, or of half as if somebody stored it", () => {
    const report = lint(modelFromBytes(network("float64")), { precision: "as-is" });
    expect(report.findings.map(({ code }) => code)).not.toContain("TC201");
    expect(lint(modelFromBytes(network("float32"))).notices.map(({ code }) => code)).not.toContain("float64");
  });
});
