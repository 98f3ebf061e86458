/** @file The flags that make a fix, as every report names them. */
import type { AccountStepName, FindingGroup, Fixability, ModelReport } from "../lint/result.ts";

/** What an unsafe fix changes: half precision is asked for by name, because `--unsafe-fixes` leaves it where Casts may take what it saves. */
export type Changed = "precision" | "layout";

/** Empty where nothing makes it; `half` is the type that half precision stores. */
export function fixFlags(
  fix: Fixability,
  changed: Changed,
  half: "fp16" | "bf16" = "fp16",
): readonly string[] {
  const unsafe = changed === "precision" ? ["--precision", half] : ["--unsafe-fixes"];
  return { safe: ["--fix"], unsafe: ["--fix", ...unsafe], none: [] }[fix];
}

/** Of an entry of a report. */
export function groupFlags(
  { fix, step }: Pick<FindingGroup, "fix" | "step">,
  { precision }: Pick<ModelReport["target"], "precision">,
): readonly string[] {
  return fixFlags(fix, changedBy(step), halfOf(precision));
}

export function changedBy(step: AccountStepName | null): Changed {
  return step === "precision" || step === "half" ? "precision" : "layout";
}

export function halfOf(precision: ModelReport["target"]["precision"]): "fp16" | "bf16" {
  return precision === "bf16" ? "bf16" : "fp16";
}
