/** @file What a repair that stores no half says of half: what lint does. */
import { isHalf } from "../ir/fix-command.ts";
import { once } from "../ir/once.ts";
import { channelsLast } from "../passes/channels-last/channels-last.ts";
import type { AccountState } from "../workload/account.ts";
import { changeBetween } from "../workload/change.ts";
import { isMeasured } from "../workload/measured.ts";
import { pricedAt } from "../workload/priced-at.ts";
import type { Workload } from "../workload/workload.ts";
import type { SafeFixes } from "./decide-stored.ts";
import type { FixedModel, FixSettings } from "./pipeline.ts";
import { askedInHalf, unlessRefused } from "./storable.ts";
import { asksForLayout } from "./stored-types.ts";
import { type Ends, takenFirst } from "./taken-first.ts";
import { type WrittenEnd, writtenInHalf, writtenInLayout } from "./written-ends.ts";

/** Of a repair that stores no half: where commands that do would end. `made` is what safe fixes leave, brought to half. */
export function foreseenEnds(
  fixes: SafeFixes,
  settings: FixSettings,
  file: Workload,
  made: () => FixedModel,
): Ends {
  const half = askedInHalf(settings);
  const laidOut = { ...half.options, nhwcOnlyWhereFaster: true };
  const both = { ...half, options: laidOut, passes: [...half.passes, channelsLast] };
  return {
    inHalf: (isLaidOut) => unlessRefused(() => writtenInHalf(fixes, both, file, made())(isLaidOut)),
    inLayout: once(() => writtenInLayout(fixes, settings, file)),
  };
}

export interface Foreseen {
  /** Of the step to half. */
  readonly precision: Pick<AccountState, "unsure" | "unwritten">;
  /** Of the step that is made. */
  readonly safe: Pick<AccountState, "first">;
}

/**
 * Of a repair that stores no half: what lint says of the step to it where it saves beyond doubt without Casts, which is that it may save nothing where no file in
 * half is sure to gain with them; and of safe fixes, what gains more of the file before them.
 */
export function foreseenHalf(fixes: SafeFixes, settings: FixSettings, file: Workload, ends: Ends): Foreseen {
  if (!isHalf(settings.target.precision) || isMeasured(file.timeline.steps))
    return { precision: {}, safe: {} };
  const first = asksForLayout(settings) ? undefined : takenFirst(fixes, ends, settings);
  return { precision: sureOfHalf(file, settings, ends.inHalf), safe: { first } };
}

function sureOfHalf(
  file: Workload,
  { cost }: FixSettings,
  end: (isLaidOut: boolean) => WrittenEnd | null | undefined,
): Foreseen["precision"] {
  const { low } = changeBetween(pricedAt(file, "as-is", cost), file, cost).saves;
  if (low <= 0 && file.products.length > 0) return {};
  const alone = end(false);
  if (alone === null) return { unsure: true, unwritten: true };
  const isSure = alone === undefined || alone.isSure || end(true)?.isSure === true;
  return isSure || low <= 0 ? {} : { unsure: true };
}
