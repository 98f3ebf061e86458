/** @file Outcomes of a model at several targets and sizes: each named, and those that are the same counted once. */

import { groupBy } from "../ir/group.ts";
import type { ModelReport } from "../lint/result.ts";
import type { LintOutcome, LintPlan } from "../settings/lint-plan.ts";
import { budgetsElsewhere, type Planned, type Row, rowsOf } from "../settings/scenario-rows.ts";
import { asGiven } from "./given-commands.ts";

/** In the order of the plans. What a size changes nothing about, because the model has no place for it, is there once. */
export function scenarioOutcomes(plans: readonly LintPlan[], linted: readonly LintOutcome[]): LintOutcome[] {
  const outcomes = linted.map((outcome, index) => asGiven(plans[index], outcome));
  if (plans.every(({ scenario }) => scenario === undefined)) return outcomes;
  const planned = outcomes.map((outcome, index) => ({
    path: plans[index]?.path,
    ...plannedOf(plans[index], outcome),
  }));
  return [...groupBy(planned, ({ path }) => path).values()].flatMap(
    (ofModel) => sameFailure(ofModel.map(({ outcome }) => outcome)) ?? distinct(ofModel),
  );
}

function plannedOf(plan: LintPlan | undefined, outcome: LintOutcome): Planned<LintOutcome> {
  const { report, bound } = outcome;
  const { scenario } = plan ?? {};
  return { outcome, scenario, target: report.target, bound: report.error === null ? bound : undefined };
}

/** A file that cannot be read fails once, not once a scenario. */
function sameFailure(outcomes: readonly LintOutcome[]): LintOutcome[] | undefined {
  const [first] = outcomes;
  const error = first?.report.error;
  if (first === undefined || error === undefined || error === null) return undefined;
  const isSame = ({ report }: LintOutcome) => report.nodes === 0 && report.error?.message === error.message;
  if (!outcomes.every(isSame)) return undefined;
  return [first];
}

function distinct(planned: readonly Planned<LintOutcome>[]): LintOutcome[] {
  const { rows, left, notices } = rowsOf(planned);
  const byName = new Map<string, Row<LintOutcome>>();
  for (const row of rows) if (!byName.has(row.name)) byName.set(row.name, row);
  const budgets = budgetsElsewhere(left.map(({ report }) => report));
  return [...byName.values()].map((row, index) => {
    const { report } = row.outcome;
    const own = index === 0 ? [...(report.budgets ?? []), ...budgets] : [];
    const noted = {
      ...report,
      ...(own.length > 0 ? { budgets: own } : {}),
      notices: [...report.notices, ...notices],
    };
    return { ...row.outcome, report: named(noted, row) };
  });
}

function named(report: ModelReport, { name, outcome: { samples } }: Row<LintOutcome>): ModelReport {
  if (name === "") return report;
  const { path, ...rest } = report;
  return { path, scenario: name, ...(samples === undefined ? {} : { samples }), ...rest };
}
