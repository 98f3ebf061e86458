/** @file Outcomes of a model at several targets and sizes: each named, and those that are the same counted once. */

import { withFlags } from "../ir/fix-command.ts";
import { groupBy } from "../ir/group.ts";
import type { AccountStep, ModelReport } from "../lint/result.ts";
import type { LintOutcome, LintPlan } from "../settings/lint-plan.ts";
import { budgetsElsewhere, type Planned, type Row, rowsOf } from "../settings/scenario-rows.ts";
import { scenarioFlags } from "../settings/scenarios.ts";

/** In the order of the plans. What a size changes nothing about, because the model has no place for it, is there once. */
export function scenarioOutcomes(
  plans: readonly LintPlan[],
  outcomes: readonly LintOutcome[],
): LintOutcome[] {
  if (plans.every(({ scenario }) => scenario === undefined)) return [...outcomes];
  const planned = outcomes.map((outcome, index) => ({
    path: plans[index]?.path,
    ...plannedOf(plans[index], withCommands(plans[index], outcome)),
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

/** Commands are named as they are given for this scenario alone: no fix is decided for several. */
function withCommands(plan: LintPlan | undefined, outcome: LintOutcome): LintOutcome {
  const { report, bound } = outcome;
  const flags =
    plan?.scenario === undefined ? [] : scenarioFlags(plan.scenario, (symbol) => bound.includes(symbol));
  return flags.length === 0 ? outcome : { ...outcome, report: commandsFor(report, flags) };
}

function commandsFor(report: ModelReport, flags: ReturnType<typeof scenarioFlags>): ModelReport {
  const { findings, groups, account, unlisted } = report;
  const ofEntry = <E extends { readonly fixCommand: string | null }>(entry: E): E =>
    entry.fixCommand === null ? entry : { ...entry, fixCommand: withFlags(entry.fixCommand, flags) };
  return {
    ...report,
    findings: findings.map(ofEntry),
    groups: groups.map(ofEntry),
    account: account.map((step) => ofStep(step, flags)),
    ...(unlisted === undefined
      ? {}
      : {
          unlisted: {
            ...unlisted,
            findings: unlisted.findings.map(ofEntry),
            groups: unlisted.groups.map(ofEntry),
          },
        }),
  };
}

function ofStep(step: AccountStep, flags: ReturnType<typeof scenarioFlags>): AccountStep {
  const { command, castsIn, first } = step;
  return {
    ...step,
    ...(command === undefined ? {} : { command: withFlags(command, flags) }),
    ...(castsIn === undefined ? {} : { castsIn: withFlags(castsIn, flags) }),
    ...(first === undefined ? {} : { first: { ...first, command: withFlags(first.command, flags) } }),
  };
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
