/** @file The flags that make a fix, as every report names them. */
import type { AccountStep, AccountStepName, FindingGroup, Fixability, ModelReport } from "../lint/result.ts";

/** What an unsafe fix changes: half precision is asked for by name, because `--unsafe-fixes` leaves it where Casts may take what it saves. */
export type Changed = "precision" | "layout" | "layout-in-half";

type Half = "fp16" | "bf16";

const unsafeFlags: Readonly<Record<Changed, (half: Half) => readonly string[]>> = {
  precision: (half) => ["--precision", half],
  layout: () => ["--unsafe-fixes"],
  // What NHWC saves behind a step to half that nobody takes unasked, it saves in half.
  "layout-in-half": (half) => ["--precision", half, "--unsafe-fixes"],
};

/** Empty where nothing makes it; `half` is the type that half precision stores. */
export function fixFlags(fix: Fixability, changed: Changed, half: Half = "fp16"): readonly string[] {
  if (fix === "none") return [];
  return fix === "safe" ? ["--fix"] : ["--fix", ...unsafeFlags[changed](half)];
}

/** Of an entry of a report. */
export function groupFlags(
  { fix, step }: Pick<FindingGroup, "fix" | "step">,
  { target, account }: Pick<ModelReport, "target" | "account">,
): readonly string[] {
  return fixFlags(fix, changedBy(step, account), halfOf(target.precision));
}

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

/** Whether `--unsafe-fixes` leaves the types as they are, where the account goes on in half: half costs, and NHWC is made all the same. */
export function leavesFloat(account: readonly AccountStep[]): boolean {
  const isSure = (account.find(({ step }) => step === "kept")?.written?.low ?? 0) > 0;
  return changedBy("layout", account) === "layout" && !isSure && halfStep(account) !== undefined;
}

/** Whether what it comes to is without what writing half takes, which lint does not know of half that is not sure to save anything. */
export function lacksCasts(account: readonly AccountStep[]): boolean {
  return halfStep(account) !== undefined && account.every(({ step }) => step !== "kept");
}

export function halfOf(precision: ModelReport["target"]["precision"]): Half {
  return precision === "bf16" ? "bf16" : "fp16";
}

function isHalf(precision: AccountStep["precision"]): boolean {
  return precision === "fp16" || precision === "bf16";
}
