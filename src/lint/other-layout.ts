/** @file What is decided anew where a setting of the stack makes another layout, which no row of the account tells of: a reader of the default stack is pointed there. */
import { layoutSettingOf, stacks } from "../hardware/stacks.ts";
import type { Target } from "../hardware/target.ts";
import { isHalf } from "../ir/fix-command.ts";
import { counted, duration, savingRange } from "../ir/format.ts";
import { changeBetween, type WorkloadChange } from "../workload/change.ts";
import { pricedAt, pricedOn } from "../workload/priced-at.ts";
import { productsInFile } from "../workload/product.ts";
import type { Workload } from "../workload/workload.ts";
import type { LintContext } from "./context.ts";
import { Narrow } from "./narrow.ts";
import type { AccountStep, NoticeReport } from "./result.ts";
import type { LintSettings } from "./run.ts";

type Row = Pick<AccountStep, "step" | "setting" | "saves">;

/** Nothing is decided a second time for it: `asked` is the target in the precision that the other stack would be asked in. */
export function otherLayoutNotices(
  context: LintContext,
  asked: Target,
  account: readonly Row[],
  { minSaving, severities }: Pick<LintSettings, "minSaving" | "severities">,
): NoticeReport[] {
  const setting = layoutSettingOf(asked.stack);
  if (setting === undefined || account.some((row) => row.setting !== undefined)) return [];
  const stack = stacks[setting.stack];
  const narrow = new Narrow(context, asked, stack);
  if (narrow.turned.length === 0) return [];
  const here = pricedAt(context.workload, asked.precision, context.cost);
  const there = pricedOn(here, stack, context.cost);
  const isTold = (codes: readonly string[]) => codes.some((code) => severities.get(code) !== "off");
  const told = [
    isTold(ofHalf) ? togetherText(context, account, there, minSaving) : undefined,
    isTold(ofConvolutions) ? narrowText(context, narrow, there, minSaving) : undefined,
  ].filter((text) => text !== undefined);
  if (told.length === 0) return [];
  const message = `with ${setting.option} ${told.join(", and ")}: lint with --stack ${setting.stack} tells whether it pays`;
  return [{ code: "other-layout", message }];
}

/** Rules that half precision is a finding of. */
const ofHalf = ["TC201"];
/** Rules that such padding is a finding of. */
const ofConvolutions = ["TC101", "TC105"];

/** Where half is not sure to gain by itself, nor the layout: both at once may be. */
function togetherText(
  context: LintContext,
  account: readonly Row[],
  there: Workload,
  minSaving: number,
): string | undefined {
  const { precision } = there.target;
  const isSure = account.some(({ step, saves }) => step === "precision" && (saves?.low ?? 0) > 0);
  if (!isHalf(precision) || isSure) return undefined;
  const stored = context.asStored();
  const before = stored.timeline.microseconds;
  const turned = pricedOn(stored, there.target.stack, context.cost);
  const isMuch = ({ saves }: WorkloadChange) => saves.low > 0 && saves.microseconds >= minSaving * before;
  const both = changeBetween(stored, there, context.cost);
  if (!isMuch(both) || !isMuch(changeBetween(turned, there, context.cost))) return undefined;
  const { saves } = both;
  return `${precision.toUpperCase()} is sure to gain, both together ${duration(saves.microseconds)} of ${duration(before)} (${savingRange(saves, before)}, without Casts)`;
}

function narrowText(
  context: LintContext,
  narrow: Narrow,
  there: Workload,
  minSaving: number,
): string | undefined {
  const left = narrow.left(there);
  // What alone the network gives out would be cut off again.
  if (left === undefined || !left.isInside) return undefined;
  const before = context.asStored().timeline.microseconds;
  const most = Math.min(before, context.timeline.microseconds);
  const least = minSaving * before;
  if (left.saves < least || there.timeline.microseconds - left.saves > most - least) return undefined;
  const many = counted(productsInFile(left.products), "convolution");
  return `padding is decided anew (${many} off the multiple of ${left.multiple})`;
}
