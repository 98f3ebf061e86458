/** @file From a model's plan and the fix flags to what the repair is told. */
import { rules } from "../../rules/index.ts";
import type { FixSettings } from "../fix/pipeline.ts";
import { fixableProducts } from "../lint/fixable.ts";
import { openModel } from "../onnx/open.ts";
import { align } from "../passes/align/align.ts";
import { channelsLast } from "../passes/channels-last/channels-last.ts";
import { fold } from "../passes/fold/fold.ts";
import { half } from "../passes/half/half.ts";
import { raiseOpset } from "../passes/half/raise-opset.ts";
import { rescale } from "../passes/half/rescale.ts";
import type { Pass, Ranges } from "../passes/pass.ts";
import { lintSettings } from "../settings/lint-settings.ts";
import type { FixFlags } from "./fix-options.ts";
import { refuse } from "./lint-file.ts";
import type { LintPlan } from "./plan.ts";
import { readCalibration } from "./read-calibration.ts";

/** All but what is seen of the model's values. Throws InputError. */
export function fixSettings(plan: LintPlan, fix: FixFlags): FixSettings {
  refuse(plan);
  using model = openModel(plan.path);
  const calibration = readCalibration(plan.settings.calibration);
  const { target, cost, shapes, dims, minSaving, severities } = lintSettings(model, {
    ...plan,
    rules,
    calibration,
    notices: [],
  });
  const asked = rules.filter(({ code }) => severities.get(code) !== "off");
  return {
    target,
    cost,
    shapes,
    dims,
    minSaving,
    remaining: (workload) => fixableProducts(asked, workload, cost),
    passes: passesOf(fix),
    options: {
      halfType: fix.half === "bf16" ? "bfloat16" : "float16",
      halfIo: fix.halfIo,
      ranges: undefined,
      halfOnlyWhereFaster: fix.halfOnlyWhereFaster,
      nhwcIo: fix.nhwcIo,
      nhwcForm: fix.nhwcForm,
      nhwcOnlyWhereFaster: fix.nhwcOnlyWhereFaster,
    },
  };
}

export function withRanges(settings: FixSettings, ranges: Ranges | undefined): FixSettings {
  return { ...settings, options: { ...settings.options, ranges } };
}

function passesOf(fix: FixFlags): readonly Pass[] {
  const halves = { none: [], fp16: [rescale, half], bf16: [raiseOpset, half] } as const;
  return [fold, align, ...halves[fix.half ?? "none"], ...(fix.nhwc ? [channelsLast] : [])];
}
