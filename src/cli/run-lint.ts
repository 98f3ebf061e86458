/** @file `tc-lint lint`: plans, outcomes, reports, exit code. */
import { availableParallelism } from "node:os";
import { InputError } from "../ir/errors.ts";
import { memoryShare } from "../ir/memory.ts";
import type { LintReport } from "../lint/result.ts";
import { errorsOnly, reportOf } from "../report/summary.ts";
import { version } from "../version.ts";
import { exitCodeOf } from "./exit-code.ts";
import { failureOf } from "./failed-report.ts";
import { Guard } from "./guard.ts";
import { applyPointerPolicy } from "./lfs-pointers.ts";
import { lintFile } from "./lint-file.ts";
import { makePlans, sizeNames } from "./make-plans.ts";
import { heapBound, isHeapLimitGiven } from "./memory-limit.ts";
import type { LintFlags } from "./options.ts";
import type { LintOutcome, LintPlan } from "./plan.ts";
import { lintInPool } from "./pool.ts";
import { ProgressLine } from "./progress.ts";
import { complain, complainOfBug } from "./stderr.ts";
import {
  checkReportsOf,
  filesOf,
  sayConfigurations,
  standardRequests,
  writeReports,
} from "./write-reports.ts";

/** Returns the exit code; `write` is given the report. Throws InputError where nothing can be linted as asked. */
export async function runLint(
  patterns: readonly string[],
  flags: LintFlags,
  workerUrl: URL,
  write: typeof writeReports = writeReports,
): Promise<number> {
  checkReportsOf(flags);
  const wantsLayers = flags.table || (flags.reports ?? []).some(({ format }) => format === "csv");
  const plans = await makePlans(patterns, { ...flags, table: wantsLayers });
  checkReportsOf(flags, { inputs: filesOf(plans) });
  const outcomes = await lintAll(plans, flags, workerUrl);
  checkReportsOf(flags, { inputs: outcomes.flatMap(({ weights }) => weights) });
  checkSizesUsed(outcomes, flags);
  for (const { bug } of outcomes) if (bug !== undefined) complainOfBug(bug);
  const { reports, skipped } = applyPointerPolicy(outcomes, flags.lfsPointers);
  for (const message of skipped) complain(message);
  const report = reportOf(reports, version);
  sayConfigurations(plans, flags.reports ?? standardRequests());
  await write(shown(report, flags), flags);
  return exitCodeOf(report, flags);
}

/** `--quiet` hides, it does not forgive: the exit code counts what is hidden. */
function shown(report: LintReport, { quiet }: LintFlags): LintReport {
  return quiet ? errorsOnly(report) : report;
}

async function lintAll(plans: readonly LintPlan[], flags: LintFlags, workerUrl: URL): Promise<LintOutcome[]> {
  const progress = new ProgressLine({
    isTerminal: process.stderr.isTTY === true,
    columns: process.stderr.columns,
  });
  try {
    const [only, ...more] = plans;
    if (only !== undefined && more.length === 0) {
      const outcome = lintAlone(only, flags, (phase) => progress.show(`${only.path}: ${phase} …`));
      if (outcome !== "needs-thread") return [outcome];
    }
    const interrupted = interrupt(progress);
    try {
      return await lintInPool(plans, {
        workerUrl,
        size: flags.jobs ?? availableParallelism(),
        limits: flags.limits,
        onProgress: ({ done, total, running }) =>
          progress.show(`${done} of ${total} models: ${running.join(", ")}`),
      });
    } finally {
      interrupted.forget();
    }
  } finally {
    progress.erase();
  }
}

/**
 * In the main thread, which saves the start of another. Its JavaScript has V8's default of memory, whatever the machine has;
 * a thread can be given more, and ends alone where that is not enough either.
 */
function lintAlone(
  plan: LintPlan,
  { limits }: LintFlags,
  onPhase: (phase: string) => void,
): LintOutcome | "needs-thread" {
  const allowed = limits.memoryBytes ?? memoryShare();
  const own = heapBound();
  const memoryBytes = Math.min(allowed, own);
  const guard = new Guard({ path: plan.path, doing: "linting", ...limits, memoryBytes });
  try {
    return guard.runRepeatable(() => lintFile(plan, onPhase));
  } catch (error) {
    const isFull = error instanceof InputError && error.code === "out-of-memory";
    const isMore = isFull && own < allowed && !isHeapLimitGiven();
    return isMore ? "needs-thread" : failureOf(plan, error);
  }
}

/** Reports are written at the end and in one piece, so stopping before leaves nothing half done. */
function interrupt(progress: ProgressLine): { forget: () => void } {
  const stop = () => {
    progress.erase();
    // 128 + SIGINT, as shells have it.
    process.exit(130);
  };
  process.once("SIGINT", stop);
  return { forget: () => process.removeListener("SIGINT", stop) };
}

/** A size that no model has a place for is a typing slip. With one model, inference says so itself. */
function checkSizesUsed(outcomes: readonly LintOutcome[], flags: LintFlags): void {
  const read = outcomes.filter(({ report }) => report.error === null);
  if (read.length === 0) return;
  const bound = new Set(read.flatMap((outcome) => outcome.bound));
  const unused = sizeNames(flags).find((name) => !bound.has(name));
  if (unused === undefined) return;
  throw new InputError(
    "unknown-dimension",
    `--shape, --dim: no model has an input or a dimension named "${unused}"`,
  );
}
