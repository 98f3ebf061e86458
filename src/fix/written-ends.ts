/** @file What the files that commands write take, and save: linting names the command of one that is sure to gain. */
import { isHalf, isOfCodes } from "../ir/fix-command.ts";
import { channelsLast } from "../passes/channels-last/channels-last.ts";
import type { AccountState, WrittenSaving } from "../workload/account.ts";
import { changeBetween } from "../workload/change.ts";
import { isMeasured } from "../workload/measured.ts";
import { pricedAt } from "../workload/priced-at.ts";
import type { Workload } from "../workload/workload.ts";
import { writtenBetween } from "../workload/written.ts";
import { decidedIn } from "./decide-layout.ts";
import type { SafeFixes } from "./decide-stored.ts";
import { besideHalf, halfInLayout } from "./decide-unsafe.ts";
import type { FixedModel, FixSettings } from "./pipeline.ts";
import { priced } from "./prices.ts";
import { askedInHalf, unlessRefused } from "./storable.ts";
import { asWritten } from "./stored-types.ts";
import { isSureInHalf } from "./sure-gain.ts";

/** What a file takes, and saves of the one before it, both in the types that they store. */
export interface WrittenEnd {
  readonly after: Workload;
  /** In half of the file that the user has, in another layout of the one that `--fix` alone leaves. */
  readonly written: WrittenSaving;
  /** Whether that is the threshold at least, its interval above zero. */
  readonly isSure: boolean;
}

/**
 * The file that half precision makes where it is asked for by name, with what stays FP32 and the Casts between; `isLaidOut`: in the layout that
 * pays behind it. Null where it changes nothing. `half` is what safe fixes leave, brought to half, `file` what the user has.
 */
export function writtenInHalf(
  fixes: SafeFixes,
  asked: FixSettings,
  file: Workload,
  half: FixedModel,
): (isLaidOut: boolean) => WrittenEnd | null {
  const options = { ...asked.options, halfOnlyWhereFaster: false, halfUnpriced: true };
  const settings = { ...asked, options };
  const beside = besideHalf(fixes, settings, file);
  return (isLaidOut) => {
    if (!half.changed) return null;
    const { model } = isLaidOut ? halfInLayout(fixes, half, settings, file) : half;
    const after = asWritten(model, settings);
    const written = writtenBetween(beside.file, after, settings.cost);
    return { after, written, isSure: isSureInHalf(written, beside, settings) };
  };
}

/** What `--fix` alone leaves, in the layout that pays in the types that it stores; undefined where there is none to decide. */
export function writtenInLayout(
  { asStored: stored }: SafeFixes,
  settings: FixSettings,
  file: Workload,
): WrittenEnd | undefined {
  const { model } = stored.fixed;
  const inTarget = priced(model, settings);
  // INT8 is decided for the target, and gated by what is stored.
  const before = isOfCodes(settings.target.precision) ? inTarget : pricedAt(inTarget, "as-is", settings.cost);
  const decision = decidedIn(before, model, settings, file);
  if (decision === undefined) return undefined;
  const { after, declined } = decision;
  return { after, written: writtenBetween(before, after, settings.cost), isSure: declined === undefined };
}

/**
 * Of a repair that stores no half: what lint says of the step to it where it saves beyond doubt without Casts, which is that it may save nothing where no file in
 * half is sure to gain with them. `made` is what safe fixes leave, brought to half.
 */
export function foreseenHalf(
  fixes: SafeFixes,
  settings: FixSettings,
  file: Workload,
  made: () => FixedModel,
): Pick<AccountState, "unsure" | "unwritten"> {
  const { target, cost } = settings;
  if (!isHalf(target.precision) || isMeasured(file.timeline.steps)) return {};
  if (changeBetween(pricedAt(file, "as-is", cost), file, cost).saves.low <= 0) return {};
  const half = askedInHalf(settings);
  const laidOut = { ...half.options, nhwcOnlyWhereFaster: true };
  const both = { ...half, options: laidOut, passes: [...half.passes, channelsLast] };
  const end = (isLaidOut: boolean) =>
    unlessRefused(() => writtenInHalf(fixes, both, file, made())(isLaidOut));
  const alone = end(false);
  if (alone === null) return { unsure: true, unwritten: true };
  return alone === undefined || alone.isSure || end(true)?.isSure === true ? {} : { unsure: true };
}
