/** @file Models linted by their plans: one, or a few small ones, in the main thread, others in worker threads. */
import { availableParallelism } from "node:os";
import { InputError } from "../ir/errors.ts";
import { memoryShare } from "../ir/memory.ts";
import { Guard, type Limits, sizeOf } from "../limits/guard.ts";
import { heapBound, isHeapLimitGiven } from "../limits/heap.ts";
import type { LintOutcome, LintPlan } from "../settings/lint-plan.ts";
import { failureOf } from "./failed-report.ts";
import { prepare } from "./prepare.ts";
import { scenarioOutcomes } from "./scenario-outcomes.ts";
import { progressText } from "./tally.ts";
import { withTimelines } from "./timelines.ts";
import { lintInPool } from "./worker-pool.ts";

export interface LintAllOptions {
  /** The script of worker threads. */
  readonly workerUrl: URL;
  /** Threads at once; one a core by default, none for a few small models. */
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
  const isAlone = plans.length === 1 || (jobs === undefined && areQuick(plans));
  const known = isAlone ? await lintHere(plans, limits, onProgress) : [];
  if (known.length === plans.length) return known;
  const rest = plans.slice(known.length);
  const noun = plans.some(({ scenario }) => scenario !== undefined) ? "scenarios" : "models";
  const others = await whileThreadsRun(() =>
    lintInPool(rest, {
      workerUrl,
      size: jobs ?? availableParallelism(),
      limits,
      onProgress: (progress) => onProgress(progressText(progress, noun)),
    }),
  );
  return [...known, ...others];
}

/** Of files together: until threads are at work, the main thread is done with these. */
const quickBytes = 2 ** 16;

/** Not where plugins are: their code may end the thread that it runs in, which fails one model of several. */
function areQuick(plans: readonly LintPlan[]): boolean {
  let bytes = 0;
  for (const { path, settings } of plans) {
    bytes += sizeOf(path);
    if (bytes > quickBytes || settings.plugins.length > 0) return false;
  }
  return true;
}

/** Outcomes of the first plans: of all, or of those before one that needs a thread. */
async function lintHere(
  plans: readonly LintPlan[],
  limits: Limits,
  onProgress: (what: string) => void,
): Promise<LintOutcome[]> {
  const outcomes: LintOutcome[] = [];
  for (const plan of plans) {
    const outcome = await lintAlone(plan, limits, (phase) => onProgress(`${plan.path}: ${phase} …`));
    if (outcome === "needs-thread") break;
    outcomes.push(outcome);
  }
  return outcomes;
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
