/**
 * @file Safe fixes of a file that keeps its types. What pays in the half precision that a target computes in is not there in a file that stays
 * FP32: `--fix` alone writes what gains in the types that are stored as well, and `--fix --precision fp16` the rest.
 */

import { isHalf, isOfTypes } from "../ir/fix-command.ts";
import { duration } from "../ir/format.ts";
import { once } from "../ir/once.ts";
import type { OpenModel } from "../onnx/open.ts";
import type { WrittenSaving } from "../workload/account.ts";
import { noChange } from "../workload/change.ts";
import { pricedAt } from "../workload/priced-at.ts";
import type { Workload } from "../workload/workload.ts";
import { writtenBetween } from "../workload/written.ts";
import { commandOf } from "./choice.ts";
import { left, noFaster, type SafeFix, sureOfLittle, withoutInside } from "./decide.ts";
import type { FixSettings } from "./pipeline.ts";
import { priced } from "./prices.ts";
import { repairedText } from "./proposed-sizes.ts";
import { savedByPass } from "./saved.ts";

/**
 * What safe fixes make for the target, and what of that is written where the file keeps its types: the same, what does without Slices and Pads inside, or nothing. Where no fix brings
 * the file to the target's types, nobody gets more than that.
 */
export interface SafeFixes {
  readonly inTarget: SafeFix;
  readonly asStored: SafeFix;
}

/** The file in the half that the target computes in, of what safe fixes leave: asked about where that decides. */
export interface HalfByName {
  /** Whether a fix can make it at all. */
  readonly isStorable: () => boolean;
  /** Whether it is sure to gain of the file that the user has, and predicted to take less than `microseconds`. */
  readonly gainsBelow: (microseconds: number, fixes: SafeFixes, isLaidOut: boolean) => boolean;
}

/** `safe` is what `decideSafe` makes of the model. */
export function decideStored(
  original: OpenModel,
  safe: SafeFix,
  settings: FixSettings,
  half: HalfByName,
): SafeFixes {
  const before = priced(original, settings);
  const both = { inTarget: safe, asStored: safe };
  if (settings.onlyWhereFaster !== true || !safe.fixed.changed || !isOfTypes(before.target.precision))
    return both;
  const { cost, minSaving } = settings;
  const written = writtenBetween(before, safe.after, cost);
  const least = minSaving * pricedAt(before, "as-is", cost).timeline.microseconds;
  if (written.low > 0 && written.microseconds >= least) return both;
  const { precision } = before.target;
  const isMade = isHalf(precision) && half.isStorable();
  const less = withoutInside(safe.fixed, original, settings);
  const kept = less && decideStored(original, less, settings, half).asStored;
  const parts = once(() => savedByPass("align", safe.fixed, before.timeline.microseconds, settings));
  const leftFor = (declined: string, isNamed: boolean): SafeFixes => {
    // What is made without Slices and Pads inside is not foregone.
    const foregone = safe.change.saves.microseconds - (kept?.change.saves.microseconds ?? 0);
    const why = {
      declined,
      proposed: safe.after,
      addsInside: less !== undefined,
      foregone,
      foregoneIn: precision,
      isMadeInHalf: isMade,
      foregoneParts: kept?.fixed.changed === true ? undefined : parts,
    };
    // More than `--fix` alone makes is told where a command is sure to make it.
    if (kept?.fixed.changed)
      return isNamed ? { inTarget: safe, asStored: { ...kept, ...why } } : { inTarget: kept, asStored: kept };
    const asStored = { fixed: left(original, declined), after: before, change: noChange, ...why };
    return { inTarget: isMade ? safe : asStored, asStored };
  };
  const repaired = repairedText(before, safe.after);
  const why = whyLeft(written, repaired, undefined);
  // Made in half all the same, it may cost more there than it saves.
  const isNamed = isMade && half.gainsBelow(written.after, leftFor(why, isMade), false);
  return isNamed ? leftFor(whyLeft(written, repaired, commandOf(precision)), true) : leftFor(why, false);
}

/** Why what the solver would do is not done to the model as a whole, and what is known of it. */
export interface Declined
  extends Pick<SafeFix, "proposed" | "addsInside" | "foregoneIn" | "isMadeInHalf" | "foregoneParts"> {
  readonly message: string;
  /** The microseconds that it would save. */
  readonly foregone: number | undefined;
}

/** Why safe fixes are not made of a file that is told as it is stored, and what all of them would save of it so. */
export function declinedAsStored(
  { after: made, declined, proposed, addsInside, foregoneIn, foregoneAsStored }: SafeFix,
  file: Workload,
  { cost }: Pick<FixSettings, "cost">,
): Declined | undefined {
  if (declined === undefined) return undefined;
  if (proposed === undefined) return { message: declined, foregone: undefined };
  const { microseconds, after } = writtenBetween(made, proposed, cost);
  const foregone = Math.max(0, foregoneAsStored ?? microseconds);
  // What was declined by its figures as stored says them already.
  if (foregoneIn !== undefined) return { message: declined, foregone, proposed, addsInside };
  const stored = `as stored ${duration(after + microseconds)} → ${duration(after)}`;
  return { message: `${inTargetText(file)} ${declined}; ${stored}`, foregone, proposed, addsInside };
}

/** What was not solved, which takes as long as solving to answer, the first time. */
export interface Unsolved {
  /** Why it is not done all the same. */
  readonly why: () => string;
  /** The model as solving leaves it, where that decides what is told of the file as it is stored. */
  readonly proposed: () => Workload | undefined;
}

/** Undefined where all was solved. `isAsStored`: whether `file` is told in the types that it stores. */
export function unsolvedOf(
  { unsolved }: Pick<SafeFix, "unsolved">,
  file: Workload,
  settings: Pick<FixSettings, "cost">,
  isAsStored: boolean,
): Unsolved | undefined {
  if (unsolved === undefined) return undefined;
  const why = () => {
    const { message } = (isAsStored && declinedAsStored(unsolved(), file, settings)) || {};
    return message ?? unsolved().declined ?? sureOfLittle;
  };
  // Padding is decided for the half that a model is meant to run in, be it told as it is stored.
  return { why, proposed: () => (isAsStored ? unsolved().proposed : undefined) };
}

/** Of a reason that is decided in what the target computes in, where the file is told as it is stored. */
export function inTargetText({ target: { precision } }: Pick<Workload, "target">): string {
  return `in ${precision.toUpperCase()}`;
}

/** `repaired` says what the figures are of; `command`: what makes it in half, in a file that is sure to gain; `where` it was looked at. */
export function whyLeft(
  written: WrittenSaving,
  repaired: string,
  command: string | undefined,
  where = "in the types that it stores",
): string {
  const { microseconds, low, after } = written;
  const why =
    low > 0
      ? `saves less than --min-saving: predicted ${duration(after + microseconds)} → ${duration(after)}`
      : noFaster(written);
  const instead = command === undefined ? "" : `; ${command} makes it, in half`;
  return `${where} ${repaired} ${why}${instead}`;
}
