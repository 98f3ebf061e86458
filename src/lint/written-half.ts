/**
 * @file Half precision as it is written. What the target saves by it is the whole model's; a file has Casts at its inputs and outputs, and what
 * must stay FP32.
 */
import type { LintContext } from "./context.ts";
import type { DecidedEnd } from "./decision.ts";

/**
 * The file in half; undefined where half may save nothing without Casts either and nothing that is claimed wants it (`isWanted`, or safe fixes that pay in
 * it alone): nobody is told to write it then, and deciding Casts takes as long as linting, where padding was not solved for, which takes longer, or half costs by itself. Beside what
 * was measured it is not known: kernels that ran have no Casts, and others no measure.
 */
export function writtenHalf(
  context: LintContext,
  isLaidOut: boolean,
  isWanted = false,
): DecidedEnd | undefined {
  const { decision } = context;
  if (context.isMeasured || decision === undefined) return undefined;
  const { needsHalf, isSolved } = decision;
  const { microseconds, low } = context.halfSaving();
  const isAsked = isWanted || needsHalf || low > 0 || (isSolved && microseconds > 0);
  return isAsked ? decision.inHalf(isLaidOut) : undefined;
}
