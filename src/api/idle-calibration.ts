/** @file Whether a calibration has a say in what a fix does: one of another machine has none, and no command names it. */
import type { Calibration } from "../cost/calibration.ts";
import { isUsedFor } from "../cost/fitted.ts";
import type { LintSettings } from "../lint/run.ts";
import type { LintOutcome } from "../settings/lint-plan.ts";

type Priced = Pick<LintSettings, "target" | "others">;

/** Of the target and of the stacks that a fix must not slow down. */
export function idleCalibration(
  calibration: Calibration | undefined,
  { target, others = [] }: Priced,
): Pick<LintOutcome, "isCalibrationIdle"> {
  if (calibration === undefined) return {};
  const looked = [target.stack, ...others.map(({ stack }) => stack)];
  const isUsed = looked.some((stack) => isUsedFor(calibration, { ...target, stack }));
  return isUsed ? {} : { isCalibrationIdle: true };
}
