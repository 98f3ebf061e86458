/** @file What the runtime's planner says of one product by itself, where findings ask what other sizes would save. */
import { describe, expect, test } from "vitest";
import { workPriceOn } from "../../src/gpu/work-price.ts";
import { machineNamed } from "../../src/hardware/machine.ts";
import type { ConvWork, GemmWork } from "../../src/ops/work.ts";

const h200 = machineNamed("h200");
const linear = (m: number, n: number, k: number, more: Partial<GemmWork<number>> = {}): GemmWork<number> => ({
  ...{ kind: "gemm", batch: 1, m, n, k, transA: false, transB: false, sharedB: true, dtype: "float32" },
  ...more,
});
const conv: ConvWork<number> = {
  ...{ kind: "conv", batch: 32, channels: 64, filters: 64, groups: 1, input: [56, 56], output: [56, 56] },
  ...{ kernel: [3, 3], strides: [1, 1], dilations: [1, 1], layout: "nchw", transposed: false },
  dtype: "float32",
};

describe("the planner's price of a product", () => {
  const price = workPriceOn(h200, "fp16");

  test("odd sizes of weights cost next to nothing: they are packed when the model is loaded", () => {
    const [odd, padded] = [linear(64, 30_011, 1022), linear(64, 30_016, 1024)].map(price);
    expect(odd).toBeGreaterThan(10);
    expect(Math.abs((padded ?? 0) / (odd ?? 1) - 1)).toBeLessThan(0.1);
  });

  test("odd sizes of what changes from run to run are packed in each", () => {
    const odd = linear(1024, 1022, 1022, { sharedB: false, transB: true });
    const padded = linear(1024, 1024, 1024, { sharedB: false, transB: true });
    expect(price(odd)).toBeGreaterThan(1.1 * (price(padded) ?? 0));
  });

  test("convolutions have one, with padding as their sizes say", () => {
    expect(price(conv)).toBeGreaterThan(5);
    expect(price({ ...conv, output: [28, 28], strides: [2, 2] })).toBeLessThan(price(conv) ?? 0);
    expect(price({ ...conv, groups: 64 })).toBeGreaterThan(0);
  });

  test("none of what runs otherwise, or in other types", () => {
    expect(price({ ...conv, transposed: true })).toBeUndefined();
    expect(price(linear(64, 64, 64, { weightBits: 4.5 }))).toBeUndefined();
    expect(workPriceOn(h200, "tf32")(linear(64, 64, 64))).toBeUndefined();
    expect(workPriceOn(h200, "model")(linear(64, 64, 64))).toBeUndefined();
    expect(workPriceOn(h200, "model")(linear(64, 64, 64, { dtype: "float16" }))).toBeGreaterThan(0);
    expect(workPriceOn(machineNamed("t4"), "bf16")(linear(64, 64, 64))).toBeUndefined();
  });
});
