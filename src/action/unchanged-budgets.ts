/** @file Budgets of models whose file is the same at base: a changed configuration exceeds them all the same. */
import { withoutFigures } from "../compare/compare.ts";
import type { CompareReport, ModelComparison } from "../compare/result.ts";
import { compareReportOf } from "../compare/summary.ts";
import type { LintReport, ModelReport } from "../lint/result.ts";
import { exceededOf } from "../report/budget-text.ts";

/** The comparison with what was linted of them, so that comment, error and exit code count the same budgets. */
export function withUnchangedBudgets(compared: CompareReport, linted: LintReport): CompareReport {
  const same = new Set(compared.unchanged);
  const failing = linted.models.filter((model) => same.has(model.path) && exceededOf(model).length > 0);
  if (failing.length === 0) return compared;
  const paths = new Set(failing.map(({ path }) => path));
  const parts = {
    base: compared.base,
    models: [...compared.models, ...failing.map(comparisonOf)],
    unchanged: compared.unchanged.filter((path) => !paths.has(path)),
  };
  return compareReportOf(parts, compared.tool.version);
}

/** Of a model that was not compared: neither side, and what it may take. */
function comparisonOf(model: ModelReport): ModelComparison {
  const { scenario, budgets } = model;
  const { path, notices, error, ...rest } = withoutFigures(
    { path: model.path, status: "same", notices: [] },
    model,
    null,
  );
  return {
    path,
    ...(scenario === undefined ? {} : { scenario }),
    ...rest,
    ...(budgets === undefined ? {} : { budgets }),
    notices,
    error,
  };
}
