/** @file A lint as the command line runs it: plans, outcomes, reports, exit code. Loaded whole: files of a few lines each take longer. */
import { type LintAllOptions, lintAll } from "../api/lint-all.ts";
import { makePlans, sizeNames } from "../api/make-plans.ts";
import { rulesOfAll } from "../api/plugins.ts";
import type { LintReport } from "../lint/result.ts";
import { drawnFormats, type LintFormat, layerFormats } from "../report/registry.ts";
import type { LintOutcome, LintPlan } from "../settings/lint-plan.ts";
import { exitCodes } from "./exit.ts";
import { checkSizesUsed, finishLint, withPlacesSaid } from "./finish-lint.ts";
import type { LintFlags } from "./options.ts";
import { Progress, withProgress } from "./progress.ts";
import { isPart } from "./shard-options.ts";
import { complain, complainOfBug } from "./stderr.ts";
import { openBaseline } from "./suppressions.ts";
import { checkReportsOf, filesOf, writeReports } from "./write-reports.ts";

export interface RunParts {
  /** Is given the report. */
  readonly write?: (report: LintReport, flags: LintFlags) => Promise<void>;
  /** Paths of models that this run repaired. */
  readonly repaired?: ReadonlySet<string>;
  /** Of the run that lint is a part of. */
  readonly progress?: Progress;
}

/** Returns the exit code. Throws InputError where nothing can be linted as asked. */
export async function runLint(
  patterns: readonly string[],
  flags: LintFlags,
  workerUrl: URL,
  { write = writeReports, repaired, progress = new Progress() }: RunParts = {},
): Promise<number> {
  checkReportsOf(flags);
  const has = (formats: ReadonlySet<LintFormat>) =>
    [...(flags.reports ?? []).map(({ format }) => format), ...flags.shards.mergeAs].some((format) =>
      formats.has(format),
    );
  const [table, drawings] = [flags.table || has(layerFormats), has(drawnFormats)];
  const found = await makePlans(patterns, { ...flags, table, drawings, onNotice: complain });
  const isWhole = !isPart(flags.shards);
  const shards = isWhole && flags.shards.blob === undefined ? undefined : await import("./write-blob.ts");
  const part = shards?.selectShard(found, flags.shards.shard);
  const plans = part?.plans ?? found;
  const baseline = openBaseline(flags, rulesOfAll(found));
  checkReportsOf(flags, { inputs: [...filesOf(found), ...baseline.files] });
  const outcomes = await withCache(plans, flags, workerUrl, (planned) =>
    withInterrupt(flags, workerUrl, progress, (options) => lintAll(planned, options)),
  );
  checkReportsOf(flags, { inputs: outcomes.flatMap(({ weights }) => weights) });
  if (isWhole) checkSizesUsed(outcomes, sizeNames(flags));
  for (const { bug } of outcomes) if (bug !== undefined) complainOfBug(bug);
  if (part !== undefined) shards?.writeBlob(part, outcomes, baseline, flags);
  const noted = withPlacesSaid(outcomes, sizeNames(flags));
  const exitCode = await finishLint(
    { plans, outcomes: noted, baseline, repaired, isWhole },
    flags,
    (report) => write(report, flags),
  );
  return Math.max(exitCode, await untrackedCode(outcomes, flags));
}

async function untrackedCode(
  outcomes: readonly LintOutcome[],
  { failOnUntracked, exitZero }: LintFlags,
): Promise<number> {
  if (!failOnUntracked) return exitCodes.clean;
  const { sayUntracked } = await import("./untracked.ts");
  // A model at several targets is one.
  const data = new Map(outcomes.map(({ report, weights }) => [report.path, weights]));
  const isLacking = sayUntracked([...data].map(([path, weights]) => ({ path, data: weights })));
  return isLacking && !exitZero ? exitCodes.findings : exitCodes.clean;
}

async function withCache(
  plans: readonly LintPlan[],
  flags: LintFlags,
  workerUrl: URL,
  lint: (plans: readonly LintPlan[]) => Promise<LintOutcome[]>,
): Promise<LintOutcome[]> {
  if (flags.cache === undefined) return lint(plans);
  const { openCache, closeCache } = await import("./open-cache.ts");
  const cache = openCache(flags.cache, workerUrl);
  if (cache === undefined) return lint(plans);
  // What a plugin finds is of code, and what was measured of files, that no key has.
  const isKept = ({ settings, profiles = [] }: LintPlan) =>
    settings.plugins.length === 0 && profiles.length === 0;
  const outcomes = await lint(plans.map((plan) => (isKept(plan) ? { ...plan, cache } : plan)));
  closeCache(cache, outcomes, {
    isVerbose: flags.verbose,
    passedOver: plans.filter((plan) => !isKept(plan)).length,
  });
  return outcomes.map(({ cache: _, ...outcome }) => outcome);
}

/** Reports are written at the end and in one piece, so stopping before leaves nothing half done. */
async function withInterrupt(
  { jobs, limits }: LintFlags,
  workerUrl: URL,
  progress: Progress,
  work: (options: LintAllOptions) => Promise<LintOutcome[]>,
): Promise<LintOutcome[]> {
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
  return withProgress(
    (onProgress) => work({ workerUrl, jobs, limits, onProgress, whileThreadsRun }),
    progress,
  );
}
