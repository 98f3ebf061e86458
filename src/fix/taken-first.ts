/** @file Which command gains most of a file that `--fix` repairs, where `--fix` before it takes that gain away. */
import { fixFlags, halfOf, isHalf } from "../ir/fix-command.ts";
import { minOf } from "../ir/lists.ts";
import type { TakenFirst } from "../workload/account.ts";
import { pricedAt } from "../workload/priced-at.ts";
import type { SafeFixes } from "./decide-stored.ts";
import type { FixSettings } from "./pipeline.ts";
import type { WrittenEnd } from "./written-ends.ts";

export interface Ends {
  readonly inHalf: (isLaidOut: boolean) => WrittenEnd | null | undefined;
  readonly inLayout: () => WrittenEnd | undefined;
}

/**
 * `--unsafe-fixes` writes half that is sure to gain of the file that it is given: of what `--fix` leaves, which is faster, half may no longer be. Undefined
 * where both ways end at one file, or nothing is said of `--fix`. The command names half, as the account's row of that file does.
 */
export function takenFirst(
  fixes: SafeFixes,
  ends: Ends,
  { target, cost }: FixSettings,
): TakenFirst | undefined {
  const { inTarget, asStored } = fixes;
  if (inTarget !== asStored || !asStored.fixed.changed || !isHalf(target.precision)) return undefined;
  const halves = (["precision", "layout-in-half"] as const).flatMap((changed) => {
    const end = ends.inHalf(changed === "layout-in-half");
    return end?.isSure === true ? { changed, end } : [];
  });
  const behind = halves.filter(({ end }) => end.isSureAfterFix);
  const [first, ...others] = halves;
  if (first === undefined || behind.length === halves.length) return undefined;
  const timeOf = ({ end }: Pick<(typeof halves)[number], "end">) => end.written.after;
  const best = others.reduce((a, b) => (timeOf(b) < timeOf(a) ? b : a), first);
  const laidOut = ends.inLayout();
  const always = laidOut?.isSure === true ? [{ end: laidOut }] : [];
  const left = pricedAt(asStored.after, "as-is", cost).timeline.microseconds;
  const afterFix = minOf([left, ...[...behind, ...always].map(timeOf)]);
  const command = fixFlags("unsafe", best.changed, halfOf(target.precision)).join(" ");
  return timeOf(best) < afterFix ? { command, after: timeOf(best), afterFix } : undefined;
}
