/** What a file takes as it is exported is its own: no target's precision changes it, on stacks with an account of their own as on others. */
import { describe, expect } from "vitest";
import { lint } from "../../src/api/lint.ts";
import { stackIds } from "../../src/hardware/stacks.ts";
import { eachModel, zooModel } from "../zoo.ts";

describe.each(stackIds)("on %s", (stack) => {
  eachModel(["misaligned_cnn", "tcn", "seg_unet"])(
    "%s takes the same as exported, whatever it is to be computed in",
    async (name) => {
      const first = async (precision: "as-is" | "fp16" | "bf16" | "tf32" | "int8") => {
        const { account } = await lint(zooModel(name), { stack, precision });
        return account[0]?.microseconds;
      };
      const stored = await first("as-is");
      expect(stored).toBeGreaterThan(0);
      for (const precision of ["fp16", "bf16", "tf32", "int8"] as const)
        expect(await first(precision), precision).toBeCloseTo(stored ?? 0, 6);
    },
  );
});
