/** @file The layout step of a stack whose setting it is: what the file that commands leave takes where the setting is made, and no file decides. */
import { type LayoutSetting, stacks } from "../hardware/stacks.ts";
import { isHalf, isOfTypes } from "../ir/fix-command.ts";
import type { WrittenSaving } from "../workload/account.ts";
import { changeBetween } from "../workload/change.ts";
import { pricedAt, pricedOn } from "../workload/priced-at.ts";
import type { Workload } from "../workload/workload.ts";
import { writtenBetween } from "../workload/written.ts";
import type { LintContext } from "./context.ts";
import { LayoutStep } from "./layout-step.ts";
import { writtenHalf } from "./written-half.ts";

/** `first` is the file, `state` what rules look at, before Casts: what they claim is shared out there. */
export function settingStep(
  first: LintContext,
  state: Workload,
  setting: LayoutSetting,
  minSaving: number,
): LayoutStep {
  const { cost } = first;
  const turned = (workload: Workload) => pricedOn(workload, stacks[setting.stack], cost);
  const half = isHalf(state.target.precision) ? writtenHalf(first, false) : undefined;
  const before = half?.after ?? state;
  const after = turned(before);
  const change = changeBetween(before, after, cost);
  const shares = before === state ? change : changeBetween(state, turned(state), cost);
  const least = minSaving * first.timeline.microseconds;
  const isSure = ({ microseconds, low }: Pick<WrittenSaving, "microseconds" | "low">) =>
    low > 0 && microseconds >= least;
  const { precision } = state.target;
  const stored = precision !== "as-is" && half?.isSure !== true ? storedFile(first) : undefined;
  const written = stored && writtenBetween(stored, turned(stored), cost);
  // What the stack computes in is a setting as well.
  const isGated = written !== undefined && isOfTypes(precision);
  const isTaken = isSure(change.saves) && (!isGated || isSure(written));
  const declined = isTaken ? {} : { declined: `${setting.option} is not sure to save --min-saving` };
  const way = { changed: null, stored: written, knowsHalf: false } as const;
  return new LayoutStep({ after, change, shares, regions: [], setting, ...declined }, () => way);
}

/** Where nobody is told to store half: what `--fix` alone leaves, in the types that are stored. */
export function storedFile(first: LintContext): Workload {
  const { decision, cost } = first;
  const after = decision?.alone;
  return after === undefined ? first.asStored() : pricedAt(after, "as-is", cost);
}
