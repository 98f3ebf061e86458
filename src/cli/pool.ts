/** @file Several models at once, each in a worker thread; one that takes its worker down fails alone. */
import { Worker } from "node:worker_threads";
import { InputError } from "../ir/errors.ts";
import { failureOf } from "./failed-report.ts";
import type { LintOutcome, LintPlan } from "./plan.ts";

export interface PoolOptions {
  /** The worker's script. */
  readonly workerUrl: URL;
  /** Threads at once. */
  readonly size: number;
  /** Called as models begin and end. */
  readonly onProgress: (progress: Progress) => void;
}

export interface Progress {
  readonly done: number;
  readonly total: number;
  /** Paths being linted. */
  readonly running: readonly string[];
}

/** Outcomes in the order of the plans. */
export async function lintInPool(plans: readonly LintPlan[], options: PoolOptions): Promise<LintOutcome[]> {
  const outcomes: LintOutcome[] = new Array(plans.length);
  const running = new Map<number, string>();
  let [next, done] = [0, 0];
  const report = () => options.onProgress({ done, total: plans.length, running: [...running.values()] });
  const lane = async () => {
    const slot = new Slot(options.workerUrl);
    try {
      for (let index = next++; index < plans.length; index = next++) {
        const plan = plans[index];
        if (plan === undefined) break;
        running.set(index, plan.path);
        report();
        outcomes[index] = await slot.lint(plan);
        running.delete(index);
        done += 1;
        report();
      }
    } finally {
      await slot.close();
    }
  };
  await Promise.all(Array.from({ length: Math.min(options.size, plans.length) }, lane));
  return outcomes;
}

/** One thread after another: a new one when the last was lost. */
class Slot {
  readonly #url: URL;
  #worker: Worker | undefined;

  constructor(url: URL) {
    this.#url = url;
  }

  lint(plan: LintPlan): Promise<LintOutcome> {
    this.#worker ??= new Worker(this.#url);
    const worker = this.#worker;
    return new Promise((resolve) => {
      const finish = (outcome: LintOutcome) => {
        worker.off("message", finish).off("error", fail).off("exit", end);
        resolve(outcome);
      };
      const lose = (error: unknown) => {
        this.#worker = undefined;
        finish(failureOf(plan, error));
      };
      const fail = (error: unknown) => lose(lossOf(plan, error));
      const end = (code: number) => lose(new Error(`its worker thread ended with code ${code}`));
      worker.on("message", finish).on("error", fail).on("exit", end);
      worker.postMessage(plan);
    });
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
  }
}

/** Running out of memory is the model's doing, by its size; anything else is ours. */
function lossOf(plan: LintPlan, error: unknown): unknown {
  const isMemory = error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
  if (!isMemory) return error;
  const message = `${plan.path}: linting it needs more memory than a worker thread may use; lint it alone, or with node --max-old-space-size`;
  return new InputError("out-of-memory", message, { cause: error });
}
