/** @file What is decided anew where a setting of the stack makes another layout, which no row of the account tells of: a reader of the default stack is pointed there. */
import { layoutSettingOf, type Stack, stacks } from "../hardware/stacks.ts";
import type { Precision, Target } from "../hardware/target.ts";
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
  const elsewhere = new Elsewhere(context, asked, stack);
  const isTold = (codes: readonly string[]) => codes.some((code) => severities.get(code) !== "off");
  const told = [
    isTold(ofHalf) ? togetherText(context, account, elsewhere, minSaving) : undefined,
    isTold(ofConvolutions) ? narrowText(context, narrow, elsewhere, minSaving) : undefined,
  ].filter((text) => text !== undefined);
  if (told.length === 0) return [];
  const message = `with ${setting.option} ${told.join(", and ")}: lint with --stack ${setting.stack} tells whether it pays`;
  return [{ code: "other-layout", message }];
}

/** The file on the stack with the setting, priced where somebody asks. */
class Elsewhere {
  readonly precision: Precision;
  readonly #context: LintContext;
  readonly #stack: Stack;
  #workload: Workload | undefined;

  constructor(context: LintContext, { precision }: Target, stack: Stack) {
    this.precision = precision;
    this.#context = context;
    this.#stack = stack;
  }

  /** In the precision that is asked for. */
  get workload(): Workload {
    const { workload, cost } = this.#context;
    this.#workload ??= pricedOn(pricedAt(workload, this.precision, cost), this.#stack, cost);
    return this.#workload;
  }

  stored(): Workload {
    return pricedOn(this.#context.asStored(), this.#stack, this.#context.cost);
  }
}

/** Rules that half precision is a finding of. */
const ofHalf = ["TC201"];
/** Rules that such padding is a finding of. */
const ofConvolutions = ["TC101", "TC105"];

/** Where half is not sure to gain by itself, nor the layout: both at once may be. */
function togetherText(
  context: LintContext,
  account: readonly Row[],
  elsewhere: Elsewhere,
  minSaving: number,
): string | undefined {
  const { precision } = elsewhere;
  const isSure = account.some(({ step, saves }) => step === "precision" && (saves?.low ?? 0) > 0);
  if (!isHalf(precision) || isSure) return undefined;
  const stored = context.asStored();
  const before = stored.timeline.microseconds;
  const isMuch = ({ saves }: WorkloadChange) => saves.low > 0 && saves.microseconds >= minSaving * before;
  const there = elsewhere.workload;
  const both = changeBetween(stored, there, context.cost);
  if (!isMuch(both) || !isMuch(changeBetween(elsewhere.stored(), there, context.cost))) return undefined;
  const { saves } = both;
  return `${precision.toUpperCase()} is sure to gain, both together ${duration(saves.microseconds)} of ${duration(before)} (${savingRange(saves, before)}, without Casts)`;
}

function narrowText(
  context: LintContext,
  narrow: Narrow,
  elsewhere: Elsewhere,
  minSaving: number,
): string | undefined {
  // What alone the network gives out would be cut off again.
  if (!narrow.left.some(({ isInside }) => isInside)) return undefined;
  const there = elsewhere.workload;
  const saves = narrow.savedOn(there);
  const before = context.asStored().timeline.microseconds;
  const most = Math.min(before, context.timeline.microseconds);
  const least = minSaving * before;
  if (saves < least || there.timeline.microseconds - saves > most - least) return undefined;
  const many = counted(productsInFile(narrow.left.map(({ product }) => product)), "convolution");
  return `padding is decided anew (${many} off the multiple of ${narrow.left[0]?.multiple})`;
}
