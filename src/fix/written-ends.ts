/** @file What the files that commands write take, and save: linting names the command of one that is sure to gain. */
import { isOfCodes } from "../ir/fix-command.ts";
import type { WrittenSaving } from "../workload/account.ts";
import { pricedAt } from "../workload/priced-at.ts";
import type { Workload } from "../workload/workload.ts";
import { writtenBetween } from "../workload/written.ts";
import { decidedIn } from "./decide-layout.ts";
import type { HalfByName, SafeFixes } from "./decide-stored.ts";
import { besideHalf, halfInLayout } from "./decide-unsafe.ts";
import type { FixedModel, FixSettings } from "./pipeline.ts";
import { priced } from "./prices.ts";
import { askedInHalf, isStorable, unlessRefused } from "./storable.ts";
import { asWritten } from "./stored-types.ts";
import { isSureGain, isSureInHalf } from "./sure-gain.ts";

/** What a file takes, and saves of the one before it, both in the types that they store. */
export interface WrittenEnd {
  readonly after: Workload;
  /** In half of the file that the user has, in another layout of the one that `--fix` alone leaves. */
  readonly written: WrittenSaving;
  /** Whether that is the threshold at least, its interval above zero. */
  readonly isSure: boolean;
  /** Whether it is so, too, where what `--fix` alone leaves is the file that the user has. */
  readonly isSureAfterFix: boolean;
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
    const isSure = isSureInHalf(written, beside, settings);
    return { after, written, isSure, isSureAfterFix: isSure && isSureOf(beside.fixed, after, settings) };
  };
}

/** The same before it is decided what is left for it; `made` is undefined where nobody can tell without weights. */
export function halfByName(
  made: () => FixedModel | undefined,
  settings: FixSettings,
  file: Workload,
): HalfByName {
  const endOf = (fixes: SafeFixes, isLaidOut: boolean) => {
    const half = made();
    return half && writtenInHalf(fixes, askedInHalf(settings), file, half)(isLaidOut);
  };
  return {
    isStorable: () => isStorable(made),
    gainsBelow: (microseconds, fixes, isLaidOut) => {
      const end = unlessRefused(() => endOf(fixes, isLaidOut));
      return end?.isSure === true && end.written.after < microseconds;
    },
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
  const isSure = declined === undefined;
  return { after, written: writtenBetween(before, after, settings.cost), isSure, isSureAfterFix: isSure };
}

function isSureOf(file: Workload, after: Workload, settings: FixSettings): boolean {
  return isSureGain(writtenBetween(file, after, settings.cost), file, settings);
}
