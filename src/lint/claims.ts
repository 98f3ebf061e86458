/**
 * @file What is claimed of a model's time, step after step of its account: no microsecond twice, none that an earlier step has
 * taken already.
 */
import { combineSavings } from "../cost/saving.ts";
import {
  type AccountState,
  type AccountStep,
  type AccountStepName,
  accountOf,
  isHalf,
} from "../workload/account.ts";
import type { Step } from "../workload/timeline.ts";
import type { LintContext } from "./context.ts";
import { capped, type Group, stepOf } from "./group.ts";

/** The steps whose savings rules predict one by one, in order; those before are priced as whole models. */
const ruled = ["layout", "author"] as const;

/** What padding costs around the products, in passes that grow and copies at the model's ends, is borne by what it saves. */
export function shareOutCopies(groups: readonly Group[], context: LintContext): void {
  const safe = inStep(groups, "safe");
  const whole = sumOf(safe.map(({ saves }) => saves?.microseconds ?? 0));
  if (context.decision === undefined) return;
  const step = context.decision.change.saves.microseconds;
  if (whole <= step || whole <= 0) return;
  for (const group of safe)
    if (group.saves !== null)
      group.saves = capped(group.saves, (group.saves.microseconds * step) / whole, group.saves.of);
}

/** Lowers what groups save in later steps to what is left of their kernels' time, the largest first. */
export function shareOutTime(groups: readonly Group[], context: LintContext): void {
  const left = new Map<Step, number>();
  for (const { before, saves } of context.decision?.change.steps ?? [])
    if (before !== undefined) left.set(before, before.microseconds - Math.max(0, saves.microseconds));
  for (const step of ruled) {
    for (const group of inStep(groups, step)) {
      if (group.saves === null) continue;
      const rest = new Map([...group.covers].map((each) => [each, left.get(each) ?? each.microseconds]));
      const available = sumOf(rest.values());
      group.saves = capped(group.saves, available, group.saves.of);
      const kept = available > 0 ? 1 - group.saves.microseconds / available : 0;
      for (const [each, time] of rest) left.set(each, time * kept);
    }
  }
}

function inStep(groups: readonly Group[], step: AccountStepName): Group[] {
  return groups
    .filter((group) => stepOf(group) === step)
    .sort((a, b) => (b.saves?.microseconds ?? 0) - (a.saves?.microseconds ?? 0));
}

/** The model as exported, in the target's precision, after `--fix`; then what the listed groups save in steps of their own. */
export function lintAccount(listed: readonly Group[], context: LintContext): AccountStep[] {
  const { cost, decision } = context;
  const states: AccountState[] = [
    { step: "exported", workload: context.asStored() },
    { step: "precision", workload: context.workload },
  ];
  if (decision !== undefined) states.push({ step: "safe", workload: decision.after });
  if (!isHalf(context.target.precision) && listed.some((group) => stepOf(group) === "precision"))
    states.push({ step: "half", workload: context.half().after });
  const account = accountOf(states, cost);
  for (const step of ruled) {
    const savings = inStep(listed, step).flatMap(({ saves }) => (saves === null ? [] : [saves]));
    const last = account.at(-1);
    if (savings.length === 0 || last === undefined) continue;
    const together = combineSavings(savings);
    // Seen in the model as exported, they may be more than what is left of it after other steps.
    const saves =
      together.microseconds < last.microseconds ? together : { ...together, microseconds: last.microseconds };
    const part = 1 - saves.microseconds / last.microseconds;
    account.push({
      step,
      microseconds: last.microseconds - saves.microseconds,
      low: last.low * part,
      high: last.high * part,
      saves,
      precision: last.precision,
    });
  }
  return account;
}

function sumOf(times: Iterable<number>): number {
  let sum = 0;
  for (const time of times) sum += time;
  return sum;
}
