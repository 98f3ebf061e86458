/** What lint says of half precision and layout is what `--unsafe-fixes` does: one decision, of both together, in the order of the account. */
import { describe, expect } from "vitest";
import { lint } from "../../src/api/lint.ts";
import { planOf } from "../../src/api/options.ts";
import { fixSettings } from "../../src/api/plan-fix.ts";
import { withTimelines } from "../../src/api/timelines.ts";
import { asWritten } from "../../src/fix/decide-unsafe.ts";
import { runFix } from "../../src/fix/make.ts";
import type { Fix } from "../../src/fix/outcome.ts";
import type { StackId } from "../../src/hardware/stacks.ts";
import { InputError } from "../../src/ir/errors.ts";
import { type OpenModel, openModel } from "../../src/onnx/open.ts";
import { type AccountStep, accountOf } from "../../src/workload/account.ts";
import { changeBetween } from "../../src/workload/change.ts";
import { eachModel, zooModel, zooNames } from "../zoo.ts";
import { rounding } from "./sums.ts";

const stacks: readonly StackId[] = ["ort-cuda", "cudnn"];
const choice = {
  half: "fp16",
  halfOnlyWhereFaster: true,
  halfIo: false,
  nhwc: true,
  nhwcOnlyWhereFaster: true,
  nhwcIo: false,
  nhwcForm: "portable",
  batch: undefined,
} as const;

/** Undefined where half precision needs weights that are not here: it computes some anew before others are folded. */
function fixOf(model: OpenModel, stack: StackId): Fix | undefined {
  try {
    return runFix(model, fixSettings(planOf(model.path, { stack }), choice));
  } catch (error) {
    if (!(error instanceof InputError) || error.code !== "weights-missing") throw error;
    console.warn(`skipped: ${error.message}`);
    return undefined;
  }
}

describe.each(stacks)("on %s", (stack) => {
  eachModel(zooNames)(
    "%s: what is written is sure to gain, and each step is the one that lint has",
    async (name) => {
      using model = openModel(zooModel(name));
      const fix = await withTimelines(() => fixOf(model, stack));
      if (fix === undefined) return;
      expectSure(model, fix);
      const { account } = await lint(model.path, { stack });
      const written = accountOf(fix.states, fix.settings.cost);
      const foreseen = account.filter(({ step }) => step !== "author");
      expect(written.map(({ step }) => step).filter((step) => step !== "kept")).toEqual(
        foreseen.map(({ step }) => step),
      );
      for (const step of foreseen)
        expectAlike(
          step,
          written.find((each) => each.step === step.step),
        );
    },
    60_000,
  );
});

/** Of what unsafe passes did, as the files are stored. */
function expectSure(model: OpenModel, { fixed, settings }: Fix): void {
  const safe = { ...settings, passes: settings.passes.filter((pass) => pass.safe) };
  const before = runFix(model, safe).fixed.model;
  if (
    !fixed.applied.some(({ notes }) => notes.some(({ pass }) => pass === "half" || pass === "channels-last"))
  )
    return;
  const { saves } = changeBetween(
    asWritten(before, settings),
    asWritten(fixed.model, settings),
    settings.cost,
  );
  expect(saves.low).toBeGreaterThan(0);
}

function expectAlike(lint: AccountStep, fix: AccountStep | undefined): void {
  const sizes = ({ microseconds, low, high, saves }: AccountStep) =>
    [microseconds, low, high, saves?.microseconds, saves?.low, saves?.high].map((value) => value ?? 0);
  const found = fix === undefined ? [] : sizes(fix);
  for (const [index, size] of sizes(lint).entries())
    expect(Math.abs(size - (found[index] ?? Number.NaN)), lint.step).toBeLessThan(rounding);
}
