/**
 * @file Half precision as it is written. What the target saves by it is the whole model's; a file has Casts at its inputs and outputs, and what
 * must stay FP32.
 */
import { isHalf } from "../ir/fix-command.ts";
import { changeBetween } from "../workload/change.ts";
import { pricedAt } from "../workload/priced-at.ts";
import type { LintContext } from "./context.ts";
import type { DecidedEnd, Decision } from "./decision.ts";

/**
 * The file in half, null where half precision makes none; undefined where half may save nothing without Casts either and nothing that is claimed wants it (`isWanted`, or safe fixes that pay in
 * it alone): nobody is told to write it then, and deciding Casts takes as long as linting, where padding was not solved for, which takes longer, or half costs by itself. Beside what
 * was measured it is not known: kernels that ran have no Casts, and others no measure.
 */
export function writtenHalf(
  context: LintContext,
  isLaidOut: boolean,
  isWanted = false,
): DecidedEnd | null | undefined {
  const { decision } = context;
  if (context.isMeasured || decision === undefined) return undefined;
  const { needsHalf, isSolved } = decision;
  const { microseconds, low } = context.halfSaving();
  // Without products there is little to decide, and often no file in half.
  const isSmall = context.products.length === 0;
  const isPaying = isWanted || isSmall || needsHalf || low > 0 || (isSolved && microseconds > 0);
  return isPaying || paysWithFixes(context, decision) ? decision.inHalf(isLaidOut) : undefined;
}

/** Whether half and safe fixes together may be sure to gain, where half by itself is not: Casts only take from it. */
function paysWithFixes(context: LintContext, { after }: Decision): boolean {
  if (after === context.workload) return false;
  const inHalf = isHalf(context.target.precision) ? after : context.half().after;
  const { cost } = context;
  const fixed = pricedAt(after, "as-is", cost).timeline.microseconds;
  return (
    inHalf.timeline.microseconds < fixed && changeBetween(context.asStored(), inHalf, cost).saves.low > 0
  );
}
