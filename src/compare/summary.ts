/** @file Counts over comparisons, and the whole report from its parts. */
import { errorReport } from "../ir/error-report.ts";
import type { Severity } from "../lint/result.ts";
import { freshOf } from "./fresh.ts";
import type { CompareReport, CompareSummary, ModelComparison } from "./result.ts";

export function compareReportOf(
  parts: Pick<CompareReport, "base" | "models" | "unchanged">,
  version: string,
): CompareReport {
  const { base, models, unchanged } = parts;
  const tool = { name: "tc-lint", version } as const;
  const errors = models.flatMap(({ error }) => (error === null ? [] : [errorReport(error, error.file)]));
  return { version: 1, tool, base, models, unchanged, errors, summary: summarize(models) };
}

function summarize(models: readonly ModelComparison[]): CompareSummary {
  const fresh = models.flatMap(({ findings }) => freshOf(findings));
  const count = (wanted: Severity) => fresh.filter(({ severity }) => severity === wanted).length;
  const budgets = models.flatMap((model) => model.budgets ?? []);
  return {
    newErrors: count("error"),
    newWarnings: count("warn"),
    newInfos: count("info"),
    fixed: models.reduce((sum, { findings }) => sum + findings.fixed.length, 0),
    slower: models.filter((model) => model.verdict === "slower").length,
    faster: models.filter((model) => model.verdict === "faster").length,
    budgetsExceeded: budgets.filter(({ verdict }) => verdict === "exceeded").length,
    failedModels: models.filter(({ error }) => error !== null).length,
  };
}
