/**
 * @file Where commands end that store half precision or another layout: a finding names the one whose file is sure to gain, of several the one
 * that gains most, and is claimed by nobody where there is none.
 */

import { type Changed, fixFlags, halfOf, isOfCodes } from "../ir/fix-command.ts";
import type { LintContext } from "./context.ts";
import type { DecidedEnd, DecidedLayout, LayoutWay } from "./decision.ts";
import { type Group, stepOf } from "./group.ts";
import type { LayoutStep } from "./layout-step.ts";
import type { Fixability } from "./result.ts";
import { writtenHalf } from "./written-half.ts";

/**
 * Of the model's time: where half and NHWC save more than that beyond doubt without Casts, these change nothing about the command, nor about which file it
 * writes, and deciding them takes as long as linting. What the zoo's files take besides is 5 % at the most where norms stay FP32.
 */
const farFromNothing = 0.06;

/** `first` is the file. */
export function wayToLayout(first: LintContext, layout: DecidedLayout): LayoutWay {
  const { after, sinceStored, sinceFile, written } = layout;
  const { decision } = first;
  if (decision === undefined || sinceStored === undefined || sinceFile === undefined)
    return { changed: "layout", stored: written, knowsHalf: false };
  if (first.isMeasured) return { changed: byAccount(first), knowsHalf: false };
  const stored = decision.inLayout();
  const isBeyond = Math.min(sinceStored.low, sinceFile.low) > farFromNothing * after.timeline.microseconds;
  if (isBeyond && stored?.isSure === true && !isOfCodes(first.target.precision))
    return { changed: "layout", knowsHalf: false };
  // Casts make nothing surer.
  if (sinceFile.low <= 0) return asStored(stored, false);
  const half = decision.inHalf(true);
  if (half === undefined)
    return { changed: stored?.isSure === true ? "layout" : byAccount(first), knowsHalf: false };
  return half?.isSure === true && isFaster(half, stored)
    ? { changed: inHalfOf(first), knowsHalf: true }
    : asStored(stored, true);
}

function asStored(stored: DecidedEnd | undefined, knowsHalf: boolean): LayoutWay {
  return stored?.isSure === true
    ? { changed: "layout", stored: stored.written, knowsHalf }
    : { changed: null, knowsHalf };
}

/** Who asks for codes is given half by its name alone. */
function inHalfOf(first: LintContext): Changed {
  return isOfCodes(first.target.precision) ? "layout-in-half" : "layout";
}

/** `--unsafe-fixes` writes what takes the least of what is sure. */
function isFaster({ written: { after } }: DecidedEnd, stored: DecidedEnd | undefined): boolean {
  return stored?.isSure !== true || after <= stored.written.after;
}

/** Where nobody knows the file in half: by what it saves without Casts. */
function byAccount(first: LintContext): Changed {
  return first.halfSaving().microseconds < 0 ? "layout" : "layout-in-half";
}

/** How half precision is come by, and what pays in it alone; null where no file is sure to gain, undefined where nobody knows. */
export function wayToHalf(first: LintContext, layout?: LayoutStep): Changed | null | undefined {
  const { decision } = first;
  const alone = writtenHalf(first, false);
  if (alone === undefined || decision === undefined) return undefined;
  if (alone === null) return null;
  // Without a layout that is claimed, and that a file decides, only what half is not sure of alone is worth a look.
  const isOfFile = layout !== undefined && layout.setting === undefined;
  const both = !isOfFile && alone.isSure ? undefined : writtenHalf(first, true);
  const isBoth =
    both?.isSure === true && (!alone.isSure || both.written.after < alone.written.after - rounding);
  if (isBoth) return isFaster(both, decision.inLayout()) ? inHalfOf(first) : "layout-in-half";
  return alone.isSure ? "precision" : null;
}

/** Microseconds: in one layout both are one file. */
const rounding = 1e-6;

/** What is asked of a fix for a finding; null where no command is sure to gain. `layout` is the layout step where it is claimed. */
function changedFor(
  group: Pick<Group, "rule" | "fix" | "saves" | "setting">,
  first: LintContext,
  layout: LayoutStep | undefined,
) {
  const step = stepOf(group);
  if (first.decision === undefined || step === null) return group.rule.changes ?? "layout";
  // A layout that is not taken, no command makes.
  if (step === "layout") return layout === undefined ? null : layout.way.changed;
  const way = wayToHalf(first, layout);
  return way === undefined ? "precision" : way;
}

/** Flags of the command that makes what a group is about, and is sure to gain; null where none is. */
export function commandOf(
  group: Pick<Group, "rule" | "fix" | "saves" | "setting">,
  first: LintContext,
  layout: LayoutStep | undefined,
): string | null {
  const changed = group.fix === "unsafe" ? changedFor(group, first, layout) : "layout";
  return changed === null ? null : commandText(group.fix, changed, first);
}

export function commandText(fix: Fixability, changed: Changed, { target }: LintContext): string | null {
  const flags = fixFlags(fix, changed, halfOf(target.precision));
  return flags.length === 0 ? null : flags.join(" ");
}
