import { describe, expect, it } from "vitest";
import { createCostModel } from "../../src/cost/model.ts";
import type { Work } from "../../src/ops/work.ts";
import { conv, gemm, targetOf } from "./targets.ts";

const model = createCostModel();
/** Aligned for both, from such as launches bind to large ones. */
const works: readonly Work<number>[] = [
  ...[1, 8, 32].flatMap((batch) => [
    conv({ batch, channels: 1024, filters: 512, side: 14, taps: 1 }),
    conv({ batch, channels: 512, filters: 512, side: 7 }),
    conv({ batch, channels: 256, filters: 64, side: 56, taps: 1 }),
    conv({ batch, channels: 64, filters: 64, side: 56 }),
  ]),
  gemm(128, 1024, 1024),
  gemm(4096, 4096, 4096),
];

describe("products of INT8", () => {
  it.each(["tensorrt", "ort-cuda"] as const)("take no longer than the same in FP16, on %s", (stack) => {
    for (const gpu of ["h200", "l4"])
      for (const work of works) {
        const time = (precision: "fp16" | "int8") =>
          model.estimate({ ...work, dtype: "float32" }, targetOf(gpu, stack, precision)).microseconds;
        expect(time("int8"), `${gpu} ${JSON.stringify(work)}`).toBeLessThanOrEqual(1.02 * time("fp16"));
      }
  });
});
