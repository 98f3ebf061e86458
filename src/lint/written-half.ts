/**
 * @file Half precision as it is written. What the target saves by it is the whole model's; a file has Casts at its inputs and outputs, and what
 * must stay FP32.
 */
import type { LintContext } from "./context.ts";
import type { DecidedHalf } from "./decision.ts";
import { asDeclined } from "./declined.ts";
import { type RawFinding, standingOf, stepOf } from "./group.ts";

/**
 * The file in half; undefined where half may save nothing without Casts either and nothing that is claimed wants it by name (`isNamed`): nobody is told to write it
 * then, and deciding them takes as long as linting. Beside what was measured it is not known: kernels that ran have no Casts, and others no measure.
 */
export function writtenHalf(
  context: LintContext,
  isLaidOut: boolean,
  isNamed = false,
): DecidedHalf | undefined {
  if (context.isMeasured) return undefined;
  return isNamed || context.halfSaving().low > 0 ? context.decision?.inHalf(isLaidOut) : undefined;
}

/** Half precision that saves time, and may save none once it is written, is claimed by nobody, as `--unsafe-fixes` leaves it. */
export function withoutHalfLeft(
  found: readonly RawFinding[],
  context: LintContext,
  minSaving: number,
): readonly RawFinding[] {
  const isClaimed = (finding: RawFinding) =>
    stepOf(finding) === "precision" && standingOf(finding, minSaving) === "listed";
  if (!found.some(isClaimed) || paysWritten(context)) return found;
  return found.map((finding) => (isClaimed(finding) ? asDeclined(finding, "uncertain") : finding));
}

/** By itself or with the layout behind it. */
function paysWritten(context: LintContext): boolean {
  const alone = writtenHalf(context, false);
  if (alone === undefined || alone.isSure) return true;
  return writtenHalf(context, true)?.isSure === true;
}
