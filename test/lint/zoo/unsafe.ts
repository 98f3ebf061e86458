/** @file What lint says of half precision and layout is what `--unsafe-fixes` does: one decision, of both together, in the order of the account. */
import { expect } from "vitest";
import { type FixChoice, safeFix } from "../../../src/api/fix-settings.ts";
import { planOf } from "../../../src/api/options.ts";
import { fixSettings } from "../../../src/api/plan-fix.ts";
import { withTimelines } from "../../../src/api/timelines.ts";
import { flagsOf } from "../../../src/fix/choice.ts";
import { runFix } from "../../../src/fix/make.ts";
import type { Fix } from "../../../src/fix/outcome.ts";
import { asWritten } from "../../../src/fix/stored-types.ts";
import type { StackId } from "../../../src/hardware/stacks.ts";
import { InputError } from "../../../src/ir/errors.ts";
import type { ModelReport } from "../../../src/lint/result.ts";
import { type OpenModel, openModel } from "../../../src/onnx/open.ts";
import { type AccountStep, accountOf } from "../../../src/workload/account.ts";
import { changeBetween } from "../../../src/workload/change.ts";
import { eachModel, zooModel, zooNames } from "../../zoo.ts";
import { expectAlike } from "../sums.ts";
import type { ZooReports } from "./reports.ts";

const choice = { ...safeFix, half: "fp16", nhwc: true } as const;

/** Undefined where half precision needs weights that are not here: it computes some anew before others are folded. */
function fixOf(model: OpenModel, stack: StackId, asked: FixChoice = choice): Fix | undefined {
  try {
    return runFix(model, fixSettings(planOf(model.path, { stack }), asked));
  } catch (error) {
    if (!(error instanceof InputError) || error.code !== "weights-missing") throw error;
    console.warn(`skipped: ${error.message}`);
    return undefined;
  }
}

export function testUnsafe(reports: ZooReports): void {
  const { stack } = reports;
  eachModel(zooNames)(
    "%s: what is written is sure to gain, and each step is the one that lint has",
    async (name) => {
      using model = openModel(zooModel(name));
      const fix = await withTimelines(() => fixOf(model, stack));
      if (fix === undefined) return;
      expectSure(model, fix);
      const report = await reports.of(model.path);
      const { account, groups } = report;
      const written = accountOf(fix.states, fix.settings.cost);
      const foreseen = account.filter(
        ({ step, setting }) => step !== "author" && step !== "kept" && setting === undefined,
      );
      if (!fix.fixed.parts.has("half") && account.some(({ step }) => step === "precision"))
        return expectStored(written, report);
      expect(written.map(({ step }) => step).filter((step) => step !== "kept")).toEqual(
        foreseen.map(({ step }) => step),
      );
      if (groups.some(({ code }) => code === "TC201"))
        expect(written.some((step) => step.written !== undefined)).toBe(true);
      for (const step of foreseen)
        expectAlike(
          written.find((each) => each.step === step.step),
          step,
        );
      // Where lint knows the file in half, it is this one, be it named or not.
      const [made, kept] = [written, account].map((steps) => steps.find(({ step }) => step === "kept"));
      if (made !== undefined && kept !== undefined) expectAlike(made, kept);
    },
    60_000,
  );

  eachModel(zooNames)(
    "%s: what half takes once it is written is what --precision fp16 comes to, and what is claimed of it is sure to gain",
    async (name) => {
      using model = openModel(zooModel(name));
      const { account, groups } = await reports.of(model.path);
      const kept = account.find(({ step }) => step === "kept");
      const isClaimed = groups.some(({ code }) => code === "TC201");
      if (kept === undefined) return expect(isClaimed).toBe(false);
      const nhwc = account.some(({ step, setting }) => step === "layout" && setting === undefined);
      const asked = { ...choice, halfOnlyWhereFaster: false, nhwc };
      const fix = await withTimelines(() => fixOf(model, stack, asked));
      expect(fix).toBeDefined();
      if (fix === undefined) return;
      const made = accountOf(fix.states, fix.settings.cost).find(({ step }) => step === "kept");
      expectAlike(made, kept);
      expect(made?.written).toEqual(kept.written);
      // By the command that its row names, where it is sure: its layout's, or half by name.
      const isSure = (kept.written?.low ?? 0) > 0;
      if (!isSure) expect(kept.command).toBeUndefined();
      if (kept.command !== undefined) await expectEnd(kept, { model, stack, asked });
      // No more than the file takes.
      const { microseconds = 0, high = 0, after = 0 } = kept.written ?? {};
      expect(high).toBeLessThan(microseconds + after - 0.1);
      if (isClaimed) expect(kept.written?.low).toBeGreaterThan(0);
    },
    60_000,
  );
}

/** The command that a row names ends at the row, and is the one by name or as is decided place by place. */
async function expectEnd(
  { command, microseconds }: AccountStep,
  { model, stack, asked }: { readonly model: OpenModel; readonly stack: StackId; readonly asked: FixChoice },
): Promise<void> {
  const named = [asked, choice].find((each) => flagsOf(each).join(" ") === command);
  expect(named, command).toBeDefined();
  const fix = await withTimelines(() => fixOf(model, stack, named));
  const end = fix && accountOf(fix.states, fix.settings.cost).at(-1);
  expect(Math.abs((end?.microseconds ?? Number.NaN) - microseconds)).toBeLessThan(1e-6);
}

/** A file that stays FP32 is told in FP32, and safe fixes save of it what lint says they do. */
function expectStored(written: readonly AccountStep[], { account, groups }: ModelReport): void {
  expect(groups.map(({ code }) => code)).not.toContain("TC201");
  expect(written.filter(({ precision }) => precision !== "as-is")).toEqual([]);
  expect(written.map(({ step }) => step)).not.toContain("kept");
  const step = account.find((each) => each.step === "safe");
  const safe = written.find((each) => each.step === "safe");
  if (step === undefined || step.needsHalf === true) return expect(safe).toBeUndefined();
  expect(safe?.saves?.microseconds).toBeCloseTo(step.written?.microseconds ?? Number.NaN, 6);
  expect(safe?.microseconds).toBeCloseTo(step.written?.after ?? Number.NaN, 6);
}

/** Of what unsafe passes made of the file, as both are stored. */
function expectSure(model: OpenModel, { fixed, settings }: Fix): void {
  if (
    !fixed.applied.some(({ notes }) => notes.some(({ pass }) => pass === "half" || pass === "channels-last"))
  )
    return;
  const { saves } = changeBetween(
    asWritten(model, settings),
    asWritten(fixed.model, settings),
    settings.cost,
  );
  expect(saves.low).toBeGreaterThan(0);
}
