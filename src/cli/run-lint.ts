/** @file A lint as the command line runs it: plans, outcomes, reports, exit code. Loaded whole: files of a few lines each take longer. */
import { applyPointerPolicy } from "../api/lfs-pointers.ts";
import { type LintAllOptions, lintAll } from "../api/lint-all.ts";
import { makePlans, sizeNames } from "../api/make-plans.ts";
import { rulesOfAll } from "../api/plugins.ts";
import { InputError } from "../ir/errors.ts";
import type { LintReport } from "../lint/result.ts";
import { drawnFormats, layerFormats } from "../report/registry.ts";
import { errorsOnly, reportOf } from "../report/summary.ts";
import type { LintOutcome } from "../settings/lint-plan.ts";
import { version } from "../version.ts";
import { exitCodes, verdictOf } from "./exit.ts";
import type { LintFlags } from "./options.ts";
import { complain, complainOfBug } from "./stderr.ts";
import { openBaseline } from "./suppressions.ts";
import { ProgressLine } from "./terminal.ts";
import { sayUnused, withoutLists } from "./unused-suppressions.ts";
import {
  checkReportsOf,
  filesOf,
  sayConfigurations,
  standardRequests,
  writeReports,
} from "./write-reports.ts";

type Write = (report: LintReport, flags: LintFlags) => Promise<void>;

/** Returns the exit code; `write` is given the report. Throws InputError where nothing can be linted as asked. */
export async function runLint(
  patterns: readonly string[],
  flags: LintFlags,
  workerUrl: URL,
  write?: Write,
): Promise<number> {
  checkReportsOf(flags);
  const wantsLayers = flags.table || (flags.reports ?? []).some(({ format }) => layerFormats.has(format));
  const drawings = (flags.reports ?? []).some(({ format }) => drawnFormats.has(format));
  const plans = await makePlans(patterns, { ...flags, table: wantsLayers, drawings, onNotice: complain });
  const baseline = openBaseline(flags, rulesOfAll(plans));
  checkReportsOf(flags, { inputs: [...filesOf(plans), ...baseline.files] });
  const all = await withInterrupt(flags, workerUrl, (options) => lintAll(plans, options));
  checkReportsOf(flags, { inputs: all.flatMap(({ weights }) => weights) });
  checkSizesUsed(all, sizeNames(flags));
  for (const { bug } of all) if (bug !== undefined) complainOfBug(bug);
  const { outcomes, isStale } = baseline.apply(all, plans);
  const { reports, skipped } = applyPointerPolicy(outcomes, flags.lfsPointers);
  for (const message of new Set(skipped)) complain(message);
  const isUnused = flags.reportUnused && sayUnused(reports, plans);
  const report = reportOf(flags.suppressed ? reports : withoutLists(reports), version);
  sayConfigurations(plans, flags.reports ?? standardRequests());
  // `--quiet` hides, it does not forgive: the exit code counts what is hidden.
  await (write ?? writeReports)(flags.quiet ? errorsOnly(report) : report, flags);
  const { exitCode, why } = verdictOf(report, flags);
  if (why !== undefined) complain(why);
  if (isStale) return exitCodes.failure;
  return isUnused && !flags.exitZero ? Math.max(exitCode, exitCodes.findings) : exitCode;
}

/** Reports are written at the end and in one piece, so stopping before leaves nothing half done. */
async function withInterrupt(
  { jobs, limits }: LintFlags,
  workerUrl: URL,
  work: (options: LintAllOptions) => Promise<LintOutcome[]>,
): Promise<LintOutcome[]> {
  const progress = new ProgressLine();
  const stop = () => {
    progress.erase();
    // 128 + SIGINT, as shells have it.
    process.exit(130);
  };
  const whileThreadsRun = async <T>(threads: () => Promise<T>): Promise<T> => {
    process.once("SIGINT", stop);
    try {
      return await threads();
    } finally {
      process.removeListener("SIGINT", stop);
    }
  };
  try {
    return await work({
      workerUrl,
      jobs,
      limits,
      onProgress: (what) => progress.show(what),
      whileThreadsRun,
    });
  } finally {
    progress.erase();
  }
}

/** A size that no model has a place for is a typing slip. With one model, inference says so itself. */
function checkSizesUsed(outcomes: readonly LintOutcome[], names: readonly string[]): void {
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
