/** Each step is priced from what the step before leaves: a file whose safe fixes were written shows what was predicted for it. */
import { describe, expect } from "vitest";
import { type FixChoice, safeFix } from "../../src/api/fix-settings.ts";
import { planOf } from "../../src/api/options.ts";
import { fixSettings } from "../../src/api/plan-fix.ts";
import { decideSafe } from "../../src/fix/decide.ts";
import { priced } from "../../src/fix/prices.ts";
import { runStages } from "../../src/fix/stages.ts";
import type { AccountStepName, ModelReport } from "../../src/lint/result.ts";
import { openModel } from "../../src/onnx/open.ts";
import { takenFirstText } from "../../src/report/account-text.ts";
import { type LintOptions, lint } from "../rules/lint.ts";
import { eachModel, zooModel } from "../zoo.ts";

const files = [
  "seg_unet",
  "resnet50",
  "yolo",
  "vit_tiny",
  "misaligned_cnn",
  "shufflenet_v2",
  "gpt2_dynamo",
  "crnn",
  "swin_tiny",
  "densenet121",
];
const stacks = ["ort-cuda", "cudnn"] as const;
const choice = { ...safeFix, nhwc: true } as const;
const minSaving = 0.005;

function settingsFor(path: string, stack: (typeof stacks)[number], more: Partial<FixChoice> = {}) {
  return fixSettings(planOf(path, { stack }), { ...choice, ...more });
}

describe.each(stacks)("on %s", (stack) => {
  const options: LintOptions = { stack, decided: true, minSaving };

  eachModel(files)("%s: what safe fixes leave is what was predicted of it", (name) => {
    const path = zooModel(name);
    using model = openModel(path);
    const before = lint(model, options);
    const after = lint(decideSafe(model, settingsFor(path, stack)).fixed.model, options);
    expect(stepOf(after, "safe")).toBeUndefined();
    // Of a file that nobody would bring to half, what pays in half alone is no step, and the file that has it is another.
    if (before.predicted.half !== undefined && after.predicted.half === undefined) return;
    // Nor of one that is sure to gain by half with safe fixes alone: the report of what came first says to take both at once.
    if (stepOf(before, "kept") !== undefined && stepOf(after, "kept") === undefined)
      return expect(takenFirstText(before.account)).toContain("at once");
    for (const step of ["layout", "author"] as const) {
      const [predicted, found] = [stepOf(before, step), stepOf(after, step)];
      const isBehind = step === "author" || predicted?.setting !== undefined;
      const [was, is] = isBehind ? [castsOf(before), castsOf(after)] : [0, 0];
      expect((found?.microseconds ?? is) - is).toBeCloseTo((predicted?.microseconds ?? was) - was, 6);
      expect(found?.saves?.microseconds ?? 0).toBeCloseTo(predicted?.saves?.microseconds ?? 0, 6);
    }
  });

  eachModel(files)("%s: in NHWC it takes what was predicted, and has no layout step left", (name) => {
    const path = zooModel(name);
    using model = openModel(path);
    const before = lint(model, options);
    const after = lint(runStages(model, settingsFor(path, stack)).fixed.model, options);
    // Nobody asks for half here, and a file without it has no such steps.
    if (before.account.some(({ needsHalf }) => needsHalf === true)) return;
    const last = before.account.findLast(
      ({ step, setting }) => step !== "author" && step !== "kept" && setting === undefined,
    );
    expect(after.predicted.microseconds).toBeCloseTo(last?.microseconds ?? 0, 6);
    const left = after.account.filter(({ step, setting }) => step === "layout" && setting === undefined);
    expect(left).toEqual([]);
    for (const { node } of after.findings) expect(node).not.toMatch(/\(t\d+\)$/);
  });
});

/** What the author's step, and a setting's, have on them: Casts are decided where padding is made, and a file that has it is told without them. */
function castsOf(report: ModelReport): number {
  return -(stepOf(report, "kept")?.saves?.microseconds ?? 0);
}

function stepOf({ account }: ModelReport, name: AccountStepName) {
  return account.find(({ step }) => step === name);
}

eachModel(["resnet50", "vgg11"])(
  "%s: prefer_nhwc takes what a file with NhwcConv takes, conversions at its borders and all",
  (name) => {
    const path = zooModel(name);
    using model = openModel(path);
    const { states, padded } = runStages(model, settingsFor(path, "ort-cuda", { nhwcForm: "ort-cuda" }));
    const layout = states.find(({ step }) => step === "layout")?.workload.timeline;
    const { timeline: chosen } = priced(
      padded,
      fixSettings(planOf(path, { stack: "ort-cuda-nhwc" }), choice),
    );
    // What is concatenated is in rows of channels.
    expect(Math.abs((layout?.microseconds ?? 0) - chosen.microseconds)).toBeLessThan(0.1);
  },
);
