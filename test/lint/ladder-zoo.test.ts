/** Each step is priced from what the step before leaves: a file whose safe fixes were written shows what was predicted for it. */
import { describe, expect } from "vitest";
import { safeFix } from "../../src/api/fix-settings.ts";
import { planOf } from "../../src/api/options.ts";
import { fixSettings } from "../../src/api/plan-fix.ts";
import { withTimelines } from "../../src/api/timelines.ts";
import { decideSafe } from "../../src/fix/decide.ts";
import { patched } from "../../src/fix/edits.ts";
import { contextOf } from "../../src/fix/pass-context.ts";
import { priced } from "../../src/fix/prices.ts";
import { runStages } from "../../src/fix/stages.ts";
import type { AccountStepName, ModelReport } from "../../src/lint/result.ts";
import { openModel } from "../../src/onnx/open.ts";
import { planLayout } from "../../src/passes/channels-last/channels-last.ts";
import { turnedWorkload } from "../../src/passes/channels-last/turned.ts";
import { changeBetween } from "../../src/workload/change.ts";
import { type LintOptions, lint } from "../rules/lint.ts";
import { eachModel, zooModel, zooNames } from "../zoo.ts";

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

function settingsFor(path: string, stack: (typeof stacks)[number], nhwcOnlyWhereFaster = true) {
  return fixSettings(planOf(path, { stack }), { ...choice, nhwcOnlyWhereFaster });
}

describe.each(stacks)("on %s", (stack) => {
  const options: LintOptions = { stack, decided: true, minSaving };

  eachModel(files)("%s: what safe fixes leave is what was predicted of it", (name) => {
    const path = zooModel(name);
    using model = openModel(path);
    const before = lint(model, options);
    const after = lint(decideSafe(model, settingsFor(path, stack)).fixed.model, options);
    expect(stepOf(after, "safe")).toBeUndefined();
    for (const step of ["layout", "author"] as const) {
      const [predicted, found] = [stepOf(before, step), stepOf(after, step)];
      const [was, is] = step === "author" ? [castsOf(before), castsOf(after)] : [0, 0];
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
    const last = before.account.findLast(({ step }) => step !== "author" && step !== "kept");
    expect(after.predicted.microseconds).toBeCloseTo(last?.microseconds ?? 0, 6);
    expect(stepOf(after, "layout")).toBeUndefined();
    for (const { node } of after.findings) expect(node).not.toMatch(/\(t\d+\)$/);
  });
});

/** What the author's step has on it: Casts are decided where padding is made, and a file that has it is told without them. */
function castsOf(report: ModelReport): number {
  return -(stepOf(report, "kept")?.saves?.microseconds ?? 0);
}

function stepOf({ account }: ModelReport, name: AccountStepName) {
  return account.find(({ step }) => step === name);
}

eachModel(zooNames)("%s: another layout is priced as the file that is written", async (name) => {
  const path = zooModel(name);
  using original = openModel(path);
  const settings = settingsFor(path, "ort-cuda", false);
  const { model } = (await withTimelines(() => decideSafe(original, settings))).fixed;
  const before = priced(model, settings);
  const plan = planLayout(contextOf(model, settings, "channels-last", "preview.data"));
  const turned = turnedWorkload(before, plan, settings.cost);
  expect(turned, "without writing it").toBeDefined();
  if (turned === undefined) return;
  const written = priced(patched(model, plan.patch, "preview.data"), settings);
  const [predicted, real] = [turned, written].map(
    (after) => changeBetween(before, after, settings.cost).saves,
  );
  for (const bound of ["microseconds", "low", "high"] as const)
    expect(predicted?.[bound]).toBeCloseTo(real?.[bound] ?? Number.NaN, 6);
});

eachModel(["resnet50", "seg_unet", "vgg11"])(
  "%s: prefer_nhwc takes what the rewritten file takes, less the Transposes at its borders",
  (name) => {
    const path = zooModel(name);
    using model = openModel(path);
    const { states, padded } = runStages(model, settingsFor(path, "ort-cuda"));
    const layout = states.find(({ step }) => step === "layout")?.workload.timeline;
    const { timeline: chosen } = priced(
      padded,
      fixSettings(planOf(path, { stack: "ort-cuda-nhwc" }), choice),
    );
    const borders = layout?.steps.filter(({ nodes }) => nodes[0]?.name.startsWith("tc_lint/Transpose/"));
    const crossing = borders?.reduce((sum, { microseconds }) => sum + microseconds, 0) ?? Number.NaN;
    // What is concatenated is in rows of channels.
    expect(Math.abs((layout?.microseconds ?? 0) - crossing - chosen.microseconds)).toBeLessThan(0.1);
  },
);
