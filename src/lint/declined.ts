/**
 * @file What `--fix` could do and does not, because it pays too little or perhaps nothing, is nobody's to do: there is one decision,
 * so that no padding is claimed in one sentence and disclaimed in the next.
 */
import type { CostedProduct, LintContext } from "./context.ts";
import { type RawFinding, standingOf, stepOf } from "./group.ts";

/** Findings of the file and of later steps, at places of the file `first`; those that are declined say so. */
export function withDeclined(
  found: readonly RawFinding[],
  first: LintContext,
  minSaving: number,
): readonly RawFinding[] {
  const { decision } = first;
  if (decision === undefined) return found;
  const left = new Set(found.filter(isLeft));
  const share = [...left].reduce((sum, { saves }) => sum + (saves?.share ?? 0), 0);
  // Reasons take longer than all rules: what no threshold lets through needs none.
  if (left.size === 0 || share < minSaving) return found;
  const products = new Map<object, CostedProduct>(first.products.map((product) => [product, product]));
  return found.map((finding) => {
    const product = left.has(finding) ? products.get(finding.raw.at) : undefined;
    const declined = product && decision.reasonFor(product).declined;
    return declined === undefined ? finding : asDeclined(finding, declined);
  });
}

/** Another layout that is sure to gain only where something unsure comes before it is taken by no fix, and claimed by nobody. */
export function withoutLayoutLeft(
  found: readonly RawFinding[],
  later: LintContext,
  minSaving: number,
): readonly RawFinding[] {
  const isClaimed = (finding: RawFinding) =>
    stepOf(finding) === "layout" && standingOf(finding, minSaving) === "listed";
  if (!later.knowsLayout || !found.some(isClaimed) || later.layoutStep()?.isTaken === true) return found;
  return found.map((finding) => (isClaimed(finding) ? asDeclined(finding, "uncertain") : finding));
}

/** Its rule has a safe fix that the decision leaves out, though it gains for sure where it is seen by itself. */
function isLeft({ raw, rule, fix, saves }: RawFinding): boolean {
  return (
    (raw.fix ?? rule.fix) === "safe" && fix === "none" && raw.left === undefined && (saves?.low ?? 0) > 0
  );
}

export function asDeclined(finding: RawFinding, declined: NonNullable<RawFinding["declined"]>): RawFinding {
  const { saves } = finding;
  // In the whole model the interval reaches zero.
  const whole =
    saves !== null && declined === "uncertain" ? { ...saves, low: Math.min(0, saves.low) } : saves;
  return { ...finding, saves: whole, declined };
}
