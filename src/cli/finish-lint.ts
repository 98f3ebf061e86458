/** @file What becomes of outcomes, be they of this run or of shards: suppressed, reported, and the exit code. */
import { applyPointerPolicy } from "../api/lfs-pointers.ts";
import { InputError } from "../ir/errors.ts";
import type { LintReport } from "../lint/result.ts";
import { errorsOnly, reportOf } from "../report/summary.ts";
import type { LintOutcome } from "../settings/lint-plan.ts";
import { lackingNotice } from "../settings/scenario-rows.ts";
import { version } from "../version.ts";
import { exitCodes, verdictOf } from "./exit.ts";
import type { LintFlags } from "./options.ts";
import { complain } from "./stderr.ts";
import type { Baseline, PlanSettings, SuppressedFlags } from "./suppressions.ts";
import { sayUnused, withoutLists } from "./unused-suppressions.ts";
import { type ReportFlags, sayConfigurations, sayFailures, standardRequests } from "./write-reports.ts";

export type FinishFlags = ReportFlags &
  SuppressedFlags &
  Pick<LintFlags, "reportUnused" | "quiet" | "maxWarnings" | "failOn" | "exitZero" | "lfsPointers">;

export interface LintedRun {
  readonly plans: readonly PlanSettings[];
  /** In the order of the plans, nothing suppressed yet. */
  readonly outcomes: readonly LintOutcome[];
  readonly baseline: Pick<Baseline, "apply">;
  /** Paths of models that the run repaired before it linted them. */
  readonly repaired?: ReadonlySet<string> | undefined;
  /** Whether these are all models: of a part nothing can be said to be found nowhere. */
  readonly isWhole: boolean;
}

/** Returns the exit code. */
export async function finishLint(
  { plans, outcomes: all, baseline, repaired, isWhole }: LintedRun,
  flags: FinishFlags,
  write: (report: LintReport) => Promise<void>,
): Promise<number> {
  const { outcomes, isStale } = baseline.apply(all, plans, repaired);
  const { reports, skipped } = applyPointerPolicy(outcomes, flags.lfsPointers);
  for (const message of new Set(skipped)) complain(message);
  const isUnused = isWhole && flags.reportUnused && sayUnused(reports, plans);
  const report = reportOf(flags.suppressed ? reports : withoutLists(reports), version);
  const requests = flags.reports ?? standardRequests();
  // What merge-reports is to read says by itself what configured it.
  if (requests.length > 0) sayConfigurations(plans, requests);
  // `--quiet` hides, it does not forgive: the exit code counts what is hidden.
  await write(flags.quiet ? errorsOnly(report) : report);
  sayFailures(report, requests);
  const { exitCode, why } = verdictOf(report, flags);
  if (why !== undefined) complain(why);
  if (isStale) return exitCodes.failure;
  return isUnused && !flags.exitZero ? Math.max(exitCode, exitCodes.findings) : exitCode;
}

/** Of several models, those that a size has no place in say so: they are linted without. Scenarios have said it. */
export function withPlacesSaid(outcomes: readonly LintOutcome[], names: readonly string[]): LintOutcome[] {
  const isOfScenarios = outcomes.some(({ report }) => report.scenario !== undefined);
  return outcomes.map((outcome) => {
    const { report, bound } = outcome;
    const lacking =
      isOfScenarios || report.error !== null ? [] : names.filter((name) => !bound.includes(name));
    if (lacking.length === 0 || report.notices.some(({ code }) => code === "scenario-without-place"))
      return outcome;
    return { ...outcome, report: { ...report, notices: [...report.notices, lackingNotice(lacking)] } };
  });
}

/** A size that no model has a place for is a typing slip. With one model, inference says so itself. */
export function checkSizesUsed(outcomes: readonly LintOutcome[], names: readonly string[]): void {
  const read = outcomes.filter(({ report }) => report.error === null);
  if (read.length === 0) return;
  const bound = new Set(read.flatMap((outcome) => outcome.bound));
  const unused = names.find((name) => !bound.has(name));
  if (unused === undefined) return;
  throw new InputError(
    "unknown-dimension",
    `--shape, --dim: no model has an input or a dimension named "${unused}"; where exports fix it, --fix --batch dynamic names the batch`,
  );
}
