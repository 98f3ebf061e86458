/** @file What a step of a repair changes, for reports that name its flags; what lint says could be done has its command. */
import { type Changed, isHalf } from "../ir/fix-command.ts";
import type { AccountStep, AccountStepName } from "../lint/result.ts";

/** What a step of an account changes. */
export function changedBy(step: AccountStepName | null, account: readonly AccountStep[]): Changed {
  // A safe fix that takes another flag takes that of half precision.
  if (step === "precision" || step === "half" || step === "safe") return "precision";
  const half = halfStep(account);
  if (half === undefined) return "layout";
  const find = (name: AccountStepName) => account.find(({ step: each }) => each === name);
  if (find("layout")?.needsHalf === true) return "layout-in-half";
  // What half costs, or saves for sure as it is written, `--unsafe-fixes` decides as well: it writes what takes the least.
  const isSure = (find("kept")?.written?.low ?? 0) > 0;
  return isSure || (half.saves?.microseconds ?? 0) < 0 ? "layout" : "layout-in-half";
}

/** The step of a file that is not stored in half to half; undefined where there is none. */
function halfStep(account: readonly AccountStep[]): AccountStep | undefined {
  return account.find(
    ({ step, precision }) => (step === "precision" || step === "half") && isHalf(precision),
  );
}

/** Whether what it comes to is without what writing half takes, which lint does not know of half that is not sure to save anything. */
export function lacksCasts(account: readonly AccountStep[]): boolean {
  return halfStep(account) !== undefined && account.every(({ step }) => step !== "kept");
}
