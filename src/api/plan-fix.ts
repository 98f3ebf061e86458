/** @file From the plan of a model on the disk and what is asked of its repair to what the passes are told. */
import { readCalibration } from "../files/read-calibration.ts";
import type { FixSettings } from "../fix/pipeline.ts";
import { openModel } from "../onnx/open.ts";
import type { LintPlan } from "../settings/lint-plan.ts";
import { type FixChoice, repairOf, safeFix } from "./fix-settings.ts";
import { rulesOf } from "./plugins.ts";
import { refuse } from "./refuse.ts";
import { settingsOf } from "./timelines.ts";

/** All but what is seen of the model's values. Throws InputError. */
export function fixSettings(plan: LintPlan, fix: FixChoice): FixSettings {
  refuse(plan);
  using model = openModel(plan.path);
  const calibration = readCalibration(plan.settings.calibration);
  return repairOf(
    settingsOf(model, { ...plan, rules: rulesOf(plan.settings), calibration, notices: [] }),
    fix,
  );
}

/** For a model that the bundled runtime is to run. */
export function safeFixSettings(plan: LintPlan): FixSettings {
  return fixSettings(plan, safeFix);
}
