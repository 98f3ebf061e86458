/** @file Models linted by their plans: one in the main thread, several in worker threads. */
import { availableParallelism } from "node:os";
import { InputError } from "../ir/errors.ts";
import { memoryShare } from "../ir/memory.ts";
import { Guard, type Limits } from "../limits/guard.ts";
import { heapBound, isHeapLimitGiven } from "../limits/heap.ts";
import type { LintOutcome, LintPlan } from "../settings/lint-plan.ts";
import { failureOf } from "./failed-report.ts";
import { prepare } from "./prepare.ts";
import { scenarioOutcomes } from "./scenario-outcomes.ts";
import { withTimelines } from "./timelines.ts";
import { lintInPool } from "./worker-pool.ts";

export interface LintAllOptions {
  /** The script of worker threads. */
  readonly workerUrl: URL;
  /** Threads at once; one a core by default. */
  readonly jobs: number | undefined;
  /** Of each model. */
  readonly limits: Limits;
  readonly onProgress: (what: string) => void;
  /** Encloses the time that threads run: they take no Ctrl-C of their own. */
  readonly whileThreadsRun: <T>(work: () => Promise<T>) => Promise<T>;
}

/** Outcomes in the order of the plans, of scenarios those that differ. Never throws for what is wrong with a model. */
export async function lintAll(plans: readonly LintPlan[], options: LintAllOptions): Promise<LintOutcome[]> {
  return scenarioOutcomes(plans, await lintEach(plans, options));
}

async function lintEach(plans: readonly LintPlan[], options: LintAllOptions): Promise<LintOutcome[]> {
  const { workerUrl, jobs, limits, onProgress, whileThreadsRun } = options;
  const [only, ...more] = plans;
  if (only !== undefined && more.length === 0) {
    const outcome = await lintAlone(only, limits, (phase) => onProgress(`${only.path}: ${phase} …`));
    if (outcome !== "needs-thread") return [outcome];
  }
  const noun = plans.some(({ scenario }) => scenario !== undefined) ? "scenarios" : "models";
  return whileThreadsRun(() =>
    lintInPool(plans, {
      workerUrl,
      size: jobs ?? availableParallelism(),
      limits,
      onProgress: ({ done, total, running }) =>
        onProgress(`${done} of ${total} ${noun}: ${running.join(", ")}`),
    }),
  );
}

/**
 * In the main thread, which saves the start of another. Its JavaScript has V8's default of memory, whatever the machine has;
 * a thread can be given more, and ends alone where that is not enough either.
 */
async function lintAlone(
  plan: LintPlan,
  limits: Limits,
  onPhase: (phase: string) => void,
): Promise<LintOutcome | "needs-thread"> {
  const cache = plan.cache && (await import("../files/lint-cache.ts"));
  const known = cache?.knownOutcome(plan);
  if (known !== undefined) return known;
  const newRecord = cache?.newRecord;
  // All of the linter, which the thread that waits for others does without.
  const { lintFile } = await import("./lint-file.ts");
  await prepare(plan);
  const allowed = limits.memoryBytes ?? memoryShare();
  const own = heapBound();
  const memoryBytes = Math.min(allowed, own);
  const guard = new Guard({ path: plan.path, doing: "linting", ...limits, memoryBytes });
  try {
    return await withTimelines(() =>
      guard.runReading((onRead) => lintFile(plan, { onPhase, onRead, newRecord })),
    );
  } catch (error) {
    const isFull = error instanceof InputError && error.code === "out-of-memory";
    const isMore = isFull && own < allowed && !isHeapLimitGiven();
    return isMore ? "needs-thread" : failureOf(plan, error);
  }
}
