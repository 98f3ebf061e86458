/**
 * A precision that is named and is not half is the one that is told: no step of it, and no file, is in half, and lint's account is that of the repair that its
 * findings name.
 */
import { describe, expect } from "vitest";
import { fix } from "../../src/api/fix.ts";
import { safeFix } from "../../src/api/fix-settings.ts";
import { lint } from "../../src/api/lint.ts";
import { planOf } from "../../src/api/options.ts";
import { fixSettings } from "../../src/api/plan-fix.ts";
import { withTimelines } from "../../src/api/timelines.ts";
import { runFix } from "../../src/fix/make.ts";
import { openModel } from "../../src/onnx/open.ts";
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

describe.each(["ort-cuda", "cudnn"] as const)("a target in bf16 on %s", (stack) => {
  eachModel(["espcn", "llama", "misaligned_cnn", "yolo_w0375"])(
    "%s: --unsafe-fixes stores that half, by the account that lint has, whoever named it",
    async (name) => {
      const { account } = await lint(zooModel(name), { stack, precision: "bf16" });
      using model = openModel(zooModel(name));
      const plan = planOf(model.path, { stack, precision: "bf16" });
      // As the flag stands alone, the precision being the configuration's.
      const settings = fixSettings(plan, { ...safeFix, half: "fp16", nhwc: true });
      expect(settings.options.halfType).toBe("bfloat16");
      const made = await withTimelines(() => runFix(model, { ...settings, mostRead: 128 << 10 }));
      const kept = made.states.find(({ step, written }) => step === "kept" && written !== undefined);
      const foreseen = account.find(({ step }) => step === "kept");
      if (kept !== undefined) expect(kept.written).toEqual(foreseen?.written);
      else expect(foreseen?.command).toBeUndefined();
    },
    60_000,
  );
});
