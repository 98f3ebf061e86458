/** @file The flags that make a fix, as every report names them. */
import type { AccountStep, AccountStepName, FindingGroup, Fixability, ModelReport } from "../lint/result.ts";

/** What an unsafe fix changes: half precision is asked for by name, because `--unsafe-fixes` leaves it where Casts may take what it saves. */
export type Changed = "precision" | "layout" | "layout-in-half";

type Half = "fp16" | "bf16";

const unsafeFlags: Readonly<Record<Changed, (half: Half) => readonly string[]>> = {
  precision: (half) => ["--precision", half],
  layout: () => ["--unsafe-fixes"],
  // What NHWC saves behind a step to half, it saves in half.
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
  const behindHalf = account.some(
    ({ step: each, precision }) => (each === "precision" || each === "half") && isHalf(precision),
  );
  return behindHalf ? "layout-in-half" : "layout";
}

export function halfOf(precision: ModelReport["target"]["precision"]): Half {
  return precision === "bf16" ? "bf16" : "fp16";
}

function isHalf(precision: AccountStep["precision"]): boolean {
  return precision === "fp16" || precision === "bf16";
}
