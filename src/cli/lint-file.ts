/** @file Opens one model and lints it by its plan: in the main thread for one model, in workers for several. */
import { lintModel } from "../lint/run.ts";
import { openModel } from "../onnx/open.ts";
import { failureOf } from "./failed-report.ts";
import { lintSettings } from "./lint-settings.ts";
import type { LintOutcome, LintPlan } from "./plan.ts";

/** Never throws: what goes wrong with one model is in its report. `onPhase` is told what begins. */
export function lintFile(plan: LintPlan, onPhase?: (phase: string) => void): LintOutcome {
  try {
    onPhase?.("reading");
    using model = openModel(plan.path);
    const settings = lintSettings(model, plan);
    const bound = [...(settings.shapes?.keys() ?? []), ...(settings.dims?.keys() ?? [])];
    onPhase?.("inferring and costing");
    return { report: lintModel(model, settings), bound };
  } catch (error) {
    return failureOf(plan, error);
  }
}
