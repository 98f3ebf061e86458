/** A repair that is predicted to make a file slower is made where somebody asked for it by name alone, and says both figures. */
import { describe, expect } from "vitest";
import { fix } from "../../src/api/fix.ts";
import { lint } from "../../src/api/lint.ts";
import { slowerText } from "../../src/report/fix-view.ts";
import { unsafeFixes } from "../unsafe-fixes.ts";
import { eachModel, zooModel, zooNames } from "../zoo.ts";

describe.each(["cudnn", "inductor"] as const)("repairs on %s", (stack) => {
  eachModel(zooNames)(
    "%s: slower as stored in TF32 alone, which is said",
    async (name) => {
      for (const precision of ["fp16", "as-is", "tf32"] as const) {
        const entry = await fix(zooModel(name), { stack, precision, dryRun: true });
        const { before, after } = entry.stored ?? { before: 0, after: 0 };
        const said = slowerText(entry);
        if (precision !== "tf32") expect(after).toBeLessThanOrEqual(before);
        if (said !== undefined) expect(after).toBeGreaterThan(before);
        if (after > before * 1.01)
          expect(said).toMatch(/^predicted to be slower as stored, .+ → .+: it gains .+ TF32 \(.+ → .+\)/);
      }
    },
    60_000,
  );
});

describe("another layout on cudnn, told in TF32", () => {
  eachModel(zooNames)("%s: its row has what the file takes as stored, as the repair says", async (name) => {
    const options = { stack: "cudnn", precision: "tf32" } as const;
    const { account } = await lint(zooModel(name), options);
    const step = account.find((each) => each.step === "layout");
    if (step === undefined) return;
    const made = await fix(zooModel(name), { ...options, ...unsafeFixes, dryRun: true });
    expect(step.written?.after).toBeCloseTo(made.stored?.after ?? Number.NaN, 6);
    expect(made.account?.find((each) => each.step === "layout")?.written).toEqual(step.written);
  });
});
