/**
 * @file What `--fix` could do and does not, because it pays too little or perhaps nothing, is nobody's to do: there is one decision,
 * so that no padding is claimed in one sentence and disclaimed in the next.
 */
import { type Whole, withinWholes } from "../workload/within-whole.ts";
import type { CostedProduct, LintContext } from "./context.ts";
import { wayToHalf } from "./ends.ts";
import { capped, type RawFinding, standingOf, stepOf } from "./group.ts";
import { isCustom } from "./plugin/custom-rule.ts";

/** Findings of the file and of later steps, at places of the file `first`; those that are declined say so. */
export function withDeclined(found: readonly RawFinding[], first: LintContext): readonly RawFinding[] {
  const { decision } = first;
  const asked = new Set(found.filter(isUnfixed));
  // Reasons take longer than all rules: nobody is asked of a model that is well aligned.
  if (decision === undefined || asked.size === 0) return found;
  const products = new Map<object, CostedProduct>(first.products.map((product) => [product, product]));
  const parts: DeclinedPart[] = [];
  const judged = found.map((finding) => {
    const product = asked.has(finding) ? products.get(finding.raw.at) : undefined;
    const { declined, whole } = (product && decision.reasonFor(product)) ?? {};
    // What may save nothing by itself is claimed by nobody in any case.
    const isClaimed = (finding.saves?.low ?? 0) > 0;
    const after = declined !== undefined && isClaimed ? asDeclined(finding, declined) : finding;
    if (whole !== undefined)
      parts.push({ finding: after, whole, microseconds: after.saves?.microseconds ?? 0 });
    return after;
  });
  return withinTheirs(judged, parts);
}

/** A finding whose fix is declined together with others. */
interface DeclinedPart {
  readonly finding: RawFinding;
  readonly whole: Whole;
  readonly microseconds: number;
}

/** Parts of what fixes together would save add up to no more, whatever each was predicted to save by itself. */
function withinTheirs(found: readonly RawFinding[], parts: readonly DeclinedPart[]): readonly RawFinding[] {
  const saved = new Map([...withinWholes(parts)].map(([{ finding }, left]) => [finding, left]));
  return found.map((finding) => {
    const left = saved.get(finding);
    const { saves } = finding;
    return saves === null || left === undefined || left === saves.microseconds
      ? finding
      : { ...finding, saves: capped(saves, left, saves.of) };
  });
}

/**
 * Half precision that saves time, and safe fixes that do in half alone, where no file in half is sure to save any, are claimed by nobody, as
 * `--unsafe-fixes` leaves them.
 */
export function withoutHalfLeft(
  found: readonly RawFinding[],
  context: LintContext,
  minSaving: number,
): readonly RawFinding[] {
  const claimed = claimedTogether(found, needsHalf, minSaving);
  return claimed.size === 0 || wayToHalf(context) !== null ? found : asLeft(found, claimed);
}

function needsHalf(finding: RawFinding): boolean {
  const step = stepOf(finding);
  return step === "precision" || (step === "safe" && finding.fix === "unsafe");
}

/** Another layout that is sure to gain only where something unsure comes before it is taken by no fix, and claimed by nobody. */
export function withoutLayoutLeft(
  found: readonly RawFinding[],
  later: LintContext,
  minSaving: number,
): readonly RawFinding[] {
  if (!later.knowsLayout) return found;
  const claimed = claimedTogether(found, (finding) => stepOf(finding) === "layout", minSaving);
  return claimed.size === 0 || later.layoutStep()?.isTaken === true ? found : asLeft(found, claimed);
}

/** What is sure to save time at `isOf`, where all of it is worth an entry: what is small by itself may be one with others of its cause. */
function claimedTogether(
  found: readonly RawFinding[],
  isOf: (finding: RawFinding) => boolean,
  minSaving: number,
): ReadonlySet<RawFinding> {
  const claimed = found.filter((finding) => isOf(finding) && standingOf(finding, 0) === "listed");
  const share = claimed.reduce((sum, { saves }) => sum + (saves?.share ?? 0), 0);
  return new Set(share < minSaving ? [] : claimed);
}

function asLeft(found: readonly RawFinding[], claimed: ReadonlySet<RawFinding>): readonly RawFinding[] {
  return found.map((finding) => (claimed.has(finding) ? asDeclined(finding, "uncertain") : finding));
}

/** Its rule has a safe fix that the decision leaves out, though it is predicted to gain where it is seen by itself. */
function isUnfixed({ raw, rule, fix, saves }: RawFinding): boolean {
  const isSafe = (raw.fix ?? rule.fix) === "safe";
  return isSafe && fix === "none" && raw.left === undefined && (saves?.microseconds ?? 0) > 0;
}

/** What is predicted to gain nothing in the whole model is no flaw of it; what a custom rule finds, its author has said. */
export function withoutLosses(found: readonly RawFinding[]): readonly RawFinding[] {
  return found.filter(({ rule, saves }) => saves === null || saves.microseconds > 0 || isCustom(rule));
}

export function asDeclined(finding: RawFinding, declined: NonNullable<RawFinding["declined"]>): RawFinding {
  const { saves } = finding;
  // In the whole model the interval reaches zero.
  const whole =
    saves !== null && declined === "uncertain" ? { ...saves, low: Math.min(0, saves.low) } : saves;
  return { ...finding, saves: whole, declined };
}
