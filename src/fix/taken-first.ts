/** @file Which command gains most of a file that `--fix` repairs, where `--fix` before it takes that gain away. */
import { fixFlags, isHalf } from "../ir/fix-command.ts";
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
 * where both ways end at one file, or nothing is said of `--fix`.
 */
export function takenFirst(
  fixes: SafeFixes,
  ends: Ends,
  { target, cost }: FixSettings,
): TakenFirst | undefined {
  const { inTarget, asStored } = fixes;
  if (inTarget !== asStored || !asStored.fixed.changed || !isHalf(target.precision)) return undefined;
  const halves = [ends.inHalf(false), ends.inHalf(true)].flatMap((end) => (end?.isSure === true ? end : []));
  if (halves.length === 0 || halves.every(({ isSureAfterFix }) => isSureAfterFix)) return undefined;
  const laidOut = ends.inLayout();
  const always = laidOut?.isSure === true ? [laidOut] : [];
  const timesOf = (reached: readonly WrittenEnd[]) => reached.map(({ written }) => written.after);
  const after = minOf(timesOf([...halves, ...always]));
  const left = pricedAt(asStored.after, "as-is", cost).timeline.microseconds;
  const behind = halves.filter(({ isSureAfterFix }) => isSureAfterFix);
  const afterFix = minOf([left, ...timesOf([...behind, ...always])]);
  return after < afterFix ? { command: fixFlags("unsafe", "layout").join(" "), after, afterFix } : undefined;
}
