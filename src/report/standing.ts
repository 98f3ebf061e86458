/** @file Where a model stands by its account: now, after `--fix`, after every step that could be taken; and the step that saves most. */
import { isOfTypes } from "../ir/fix-command.ts";
import { duration, percent } from "../ir/format.ts";
import type { AccountStep, AccountStepName, ModelReport } from "../lint/result.ts";
import { nameBeside, shareOf } from "./account-text.ts";

/** Microseconds of one run. */
export interface Standing {
  /** As exported, computed in the target's precision. */
  readonly now: number;
  /** The file as exported, in the types that it stores. */
  readonly stored: number;
  /** The file that `--fix` alone writes, in the types that it stores. */
  readonly afterFix: number;
  /**
   * The fastest file that commands are sure to gain by, as it is stored, with what settings of the stack and its author do behind; that of the account's
   * last step where it is told of that file.
   */
  readonly afterAll: number;
}

type Accounted = Pick<ModelReport, "account" | "predicted" | "nodes">;

/** Undefined where nothing is known of the model. */
export function standingOf({ account, predicted, nodes }: Accounted): Standing | undefined {
  if (nodes === 0) return undefined;
  const stepAt = (name: AccountStepName) => account.find(({ step }) => step === name);
  const stored = stepAt("exported")?.microseconds ?? predicted.microseconds;
  // Where all else is told of the file as it is stored, half is beside it: rows of a table are of what they name.
  const now = predicted.half?.microseconds ?? stepAt("precision")?.microseconds ?? stored;
  const safe = stepAt("safe");
  const fixed = safe?.needsHalf === true ? safe.alone?.after : (safe?.written?.after ?? safe?.microseconds);
  const afterFix = fixed ?? stored;
  // Nobody goes on to what takes longer than the file that is there.
  const afterAll = Math.min(stored, afterFix, endOf(account) ?? stored);
  return { now, stored, afterFix, afterAll };
}

/** Microseconds of the file at the end of the account; undefined where that is a file in half that may save nothing, or that no fix stores. */
function endOf(account: readonly AccountStep[]): number | undefined {
  const stepAt = (name: AccountStepName) => account.find(({ step }) => step === name);
  const last = account.at(-1);
  const [layout, kept] = [stepAt("layout"), stepAt("kept")];
  if (last?.restsOn !== undefined) return last.written?.after;
  const isHalfWritten = kept?.command !== undefined;
  // What a setting of the stack computes in is no other file.
  const written = layout !== undefined && isOfTypes(layout.precision) ? layout.written : undefined;
  if (written !== undefined && !(last?.step === "author" && isHalfWritten)) return written.after;
  const isUnwritten = account.some((step) => step.unwritten === true);
  const isOfUnsureHalf = isUnwritten || last?.castsIn !== undefined || (kept !== undefined && !isHalfWritten);
  return isOfUnsureHalf ? undefined : last?.microseconds;
}

/** What the time now counts in already. */
const countedIn: ReadonlySet<AccountStepName> = new Set(["exported", "precision"]);

/** The step that saves most of where it stands, beyond doubt: what its precision saves is one of them. Undefined where nothing is sure to save. */
export function bestStepOf({ account }: Pick<ModelReport, "account">): AccountStep | undefined {
  return largest(account.filter((step) => (step.saves?.low ?? 0) > 0 && step.unsure !== true));
}

/** What writing half precision takes besides is no step that anybody decides on. */
function largest(account: readonly AccountStep[]): AccountStep | undefined {
  const saved = ({ saves }: AccountStep) => saves?.microseconds ?? 0;
  return account
    .filter((step) => step.step !== "kept" && saved(step) > 0)
    .reduce<AccountStep | undefined>(
      (best, step) => (best !== undefined && saved(best) >= saved(step) ? best : step),
      undefined,
    );
}

/** So many times what is sure, and an unsure step is worth a word beside it. */
const muchMore = 2;

/** `safe fixes 19.5 µs, 20 %`: as the account has it, beside what `--fix` makes of the file as it is stored. Where nothing is sure to save, or much less, what may save most. */
export function bestStepText({ account }: Pick<ModelReport, "account">): string {
  const sure = bestStepOf({ account });
  const most = largest(account);
  const saved = (step: AccountStep | undefined) => step?.saves?.microseconds ?? 0;
  const isMore = most !== undefined && saved(most) > muchMore * saved(sure);
  const texts = [
    ...(sure === undefined ? [] : [stepText(sure, account, "")]),
    ...(isMore ? [stepText(most, account, "may save ")] : []),
  ];
  return texts.join("; ");
}

function stepText(step: AccountStep, account: readonly AccountStep[], verb: string): string {
  const figures = `${duration(step.saves?.microseconds ?? 0)}, ${percent(shareOf(step, account) ?? 0)}`;
  return `${nameBeside(step, account)} ${verb}${figures}${countedIn.has(step.step) ? " (counted in predicted)" : ""}`;
}
