/** @file What becomes of a Git LFS pointer in a model's place. It is never reported clean. */
import type { ModelReport } from "../lint/result.ts";
import type { LintOutcome } from "../settings/lint-plan.ts";

export type LfsPointers = "error" | "warn" | "skip";

/** The reports that stay, and a line for each one that `skip` leaves out. */
export function applyPointerPolicy(
  outcomes: readonly LintOutcome[],
  policy: LfsPointers,
): { readonly reports: readonly ModelReport[]; readonly skipped: readonly string[] } {
  const reports: ModelReport[] = [];
  const skipped: string[] = [];
  for (const { report } of outcomes) {
    const { error } = report;
    if (error?.code !== "lfs-pointer" || policy === "error") reports.push(report);
    else if (policy === "skip") skipped.push(`skipped: ${error.message}`);
    else
      reports.push({
        ...report,
        error: null,
        notices: [{ code: error.code, message: `not linted: ${error.message}` }],
      });
  }
  return { reports, skipped };
}
