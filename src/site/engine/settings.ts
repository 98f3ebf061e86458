/** @file The reader's target as the settings that the command line would make of the same flags. */
import { rules } from "../../../rules/index.ts";
import type { LintSettings } from "../../lint/run.ts";
import { missingWeights } from "../../onnx/missing-weights.ts";
import type { OpenModel } from "../../onnx/read-model.ts";
import type { LintPlan } from "../../settings/lint-plan.ts";
import { lintSettings } from "../../settings/lint-settings.ts";
import { resolveSettings } from "../../settings/resolve.ts";
import { parseDims, parsePrecision } from "../../settings/values.ts";
import type { Target } from "../protocol.ts";

/** Throws InputError as the command line does, naming its flag. */
export function planFor(path: string, target: Target): LintPlan {
  const dims = parseDims(target.dims);
  const flags = { gpu: target.gpu, stack: target.stack, precision: parsePrecision(target.precision), dims };
  const settings = resolveSettings(path, undefined, flags, rules);
  return { path, settings, layers: true, drawings: true, verbose: false, mustHave: Object.keys(dims) };
}

/** Everything that the page shows of a model. */
export function settingsFor(model: OpenModel, plan: LintPlan): LintSettings {
  const notices = [...model.notices, ...missingWeights(model)];
  return lintSettings(model, { ...plan, rules, calibration: undefined, notices });
}
