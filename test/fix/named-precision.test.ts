/**
 * A precision that is named and is not half is the one that is told: no step of it, and no file, is in half, and lint's account is that of the repair that its
 * findings name.
 */
import { describe, expect } from "vitest";
import { fix } from "../../src/api/fix.ts";
import { lint } from "../../src/api/lint.ts";
import { unsafeFixes } from "../unsafe-fixes.ts";
import { eachModel, zooModel } from "../zoo.ts";

describe.each(["as-is", "tf32", "fp32"] as const)("--precision %s", (precision) => {
  eachModel(["misaligned_cnn", "espcn", "seg_unet", "siamese", "squeezenet"])(
    "%s: --unsafe-fixes stores no half, and does what lint says",
    async (name) => {
      const asked = { stack: "cudnn", precision } as const;
      const report = await lint(zooModel(name), asked);
      const made = await fix(zooModel(name), { ...asked, ...unsafeFixes, dryRun: true });
      expect(made.notes.filter(({ pass }) => pass === "half")).toEqual([]);
      expect(report.groups.map(({ code }) => code)).not.toContain("TC201");
      expect(
        report.groups.map(({ fixCommand }) => fixCommand ?? "").filter((each) => /fp16/.test(each)),
      ).toEqual([]);
      const foreseen = report.account.filter(({ step }) => step !== "author");
      const timesOf = (account: typeof foreseen) => account.map(({ step, precision: type }) => [step, type]);
      expect(timesOf([...(made.account ?? [])])).toEqual(timesOf(foreseen));
      for (const [index, { microseconds }] of foreseen.entries())
        expect(made.account?.[index]?.microseconds).toBe(microseconds);
    },
    60_000,
  );
});

describe("--precision int8", () => {
  eachModel(["convnext_tiny", "inception_v3", "mobilenet_v2"])(
    "%s: its layout step is lint's to the last digit",
    async (name) => {
      const asked = { stack: "cudnn", precision: "int8" } as const;
      const { account } = await lint(zooModel(name), asked);
      const made = await fix(zooModel(name), { ...asked, ...unsafeFixes, dryRun: true });
      const layoutOf = (steps: typeof account) => steps.find(({ step }) => step === "layout")?.saves;
      expect(layoutOf([...(made.account ?? [])])).toEqual(layoutOf(account));
    },
    60_000,
  );
});
