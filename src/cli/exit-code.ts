/** @file The exit code, decided in one place. */
import type { LintReport } from "../lint/result.ts";

export const exitCodes = { clean: 0, findings: 1, failure: 2 } as const;

export interface ExitPolicy {
  /** More warnings than this fail the run; undefined: warnings never do. */
  readonly maxWarnings?: number | undefined;
  /** Findings never fail the run. Failures still do. */
  readonly exitZero: boolean;
}

/** 2 where a model could not be linted, else 1 where findings fail the run, else 0. */
export function exitCodeOf(
  { summary }: Pick<LintReport, "summary">,
  { maxWarnings, exitZero }: ExitPolicy,
): number {
  if (summary.failedModels > 0) return exitCodes.failure;
  const tooMany = maxWarnings !== undefined && summary.warnings > maxWarnings;
  return !exitZero && (summary.errors > 0 || tooMany) ? exitCodes.findings : exitCodes.clean;
}
