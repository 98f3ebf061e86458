/** @file Outcomes of a model at several targets and sizes: each named, and those that are the same counted once. */
import type { LintOutcome, LintPlan } from "../settings/lint-plan.ts";
import { scenarioName } from "../settings/scenarios.ts";

/** In the order of the plans. What a size changes nothing about, because the model has no place for it, is there once. */
export function scenarioOutcomes(
  plans: readonly LintPlan[],
  outcomes: readonly LintOutcome[],
): LintOutcome[] {
  if (plans.every(({ scenario }) => scenario === undefined)) return [...outcomes];
  const byModel = new Map<string | undefined, Named[]>();
  for (const [index, outcome] of outcomes.entries()) {
    const plan = plans[index];
    const named = namedBy(plan, outcome);
    const before = byModel.get(plan?.path);
    if (before === undefined) byModel.set(plan?.path, [named]);
    else before.push(named);
  }
  return [...byModel.values()].flatMap((named) => sameFailure(named) ?? distinct(named));
}

interface Named {
  /** Empty where nothing tells it from others. */
  readonly name: string;
  readonly outcome: LintOutcome;
}

function namedBy(plan: LintPlan | undefined, outcome: LintOutcome): Named {
  if (plan?.scenario === undefined) return { name: "", outcome };
  // What a model that failed has is not known: each scenario keeps its whole name.
  const has = (symbol: string) => outcome.report.error !== null || outcome.bound.includes(symbol);
  const name = scenarioName(plan.scenario, has);
  if (name === "") return { name, outcome };
  const { report, samples } = outcome;
  const { path, ...rest } = report;
  const counted = samples === undefined ? {} : { samples };
  return { name, outcome: { ...outcome, report: { path, scenario: name, ...counted, ...rest } } };
}

/** A file that cannot be read fails once, not once a scenario. */
function sameFailure(named: readonly Named[]): LintOutcome[] | undefined {
  const [first] = named;
  const error = first?.outcome.report.error;
  if (first === undefined || error === undefined || error === null) return undefined;
  const isSame = ({ outcome: { report } }: Named) =>
    report.nodes === 0 && report.error?.message === error.message;
  if (!named.every(isSame)) return undefined;
  const { scenario: _, samples: __, ...report } = first.outcome.report;
  return [{ ...first.outcome, report }];
}

function distinct(named: readonly Named[]): LintOutcome[] {
  const byName = new Map<string, LintOutcome>();
  for (const { name, outcome } of named) if (!byName.has(name)) byName.set(name, outcome);
  return [...byName.values()];
}
