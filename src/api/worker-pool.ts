/** @file Several models at once, each in a worker thread; one that takes its worker down fails alone. */
import { getHeapStatistics } from "node:v8";
import type { Worker } from "node:worker_threads";
import { memoryShare } from "../ir/memory.ts";
import { SharedText } from "../ir/running.ts";
import { timerMilliseconds } from "../ir/time.ts";
import { type Limits, memoryAdvice, secondsFor, type Task, tooLarge, tooLate } from "../limits/guard.ts";
import { isHeapLimitGiven } from "../limits/heap.ts";
import { threads } from "../limits/threads.ts";
import type { LintOutcome, LintPlan } from "../settings/lint-plan.ts";
import { scenarioName } from "../settings/scenarios.ts";
import { failureOf } from "./failed-report.ts";
import { refusalOf } from "./refuse.ts";
import { type Progress, Tally } from "./tally.ts";
import { laidToPlugins, ThreadEnded } from "./thread-end.ts";

/** Of a thread, however many share the memory: most models take a tenth of it. */
const leastHeapBytes = 2 ** 29;

export interface PoolOptions {
  /** The worker's script. */
  readonly workerUrl: URL;
  /** Threads at once. */
  readonly size: number;
  /** Of each model. */
  readonly limits?: Limits;
  /** Called as models begin and end. */
  readonly onProgress: (progress: Progress) => void;
}

/** Outcomes in the order of the plans. */
export async function lintInPool(plans: readonly LintPlan[], options: PoolOptions): Promise<LintOutcome[]> {
  const outcomes: LintOutcome[] = new Array(plans.length);
  const tally = new Tally(plans.length, options.onProgress);
  let next = 0;
  const lane = async () => {
    const slot = new Slot<LintOutcome>(options, Math.min(options.size, plans.length));
    try {
      for (let index = next++; index < plans.length; index = next++) {
        const plan = plans[index];
        if (plan === undefined) break;
        tally.begin(index, labelOf(plan));
        outcomes[index] = await lintIn(slot, plan);
        tally.end(index);
      }
    } finally {
      await slot.close();
    }
  };
  await Promise.all(Array.from({ length: Math.min(options.size, plans.length) }, lane));
  return outcomes;
}

async function lintIn(slot: Slot<LintOutcome>, plan: LintPlan): Promise<LintOutcome> {
  // No thread says more of it, and one that is slow to start would be late with it.
  const refusal = refusalOf(plan);
  if (refusal !== undefined) return failureOf(plan, refusal);
  const failed = (error: unknown) => failureOf(plan, laidToPlugins(plan, error));
  return slot.run(plan, { path: plan.path, doing: "linting", failed });
}

/** The model of a plan, as one of several. */
export function labelOf({ path, scenario }: LintPlan): string {
  return scenario === undefined ? path : `${path} (${scenarioName(scenario)})`;
}

/** What a thread is asked, beside the message. */
export interface ThreadTask<Answer> extends Pick<Task, "path" | "doing"> {
  /** What stands for an answer that does not come. */
  readonly failed: (error: unknown) => Answer;
}

/** One thread after another: a new one when the last was lost. */
export class Slot<Answer extends object> {
  readonly #url: URL;
  readonly #limits: Limits;
  readonly #heapBytes: number;
  #worker: Worker | undefined;
  /** Whose code the thread runs. */
  readonly #running = new SharedText();

  /** `lanes`: how many there are, which share the memory. */
  constructor({ workerUrl, limits = {} }: Pick<PoolOptions, "workerUrl" | "limits">, lanes: number) {
    this.#url = workerUrl;
    this.#limits = limits;
    const allowed = limits.memoryBytes ?? Math.max(memoryShare() / lanes, leastHeapBytes);
    this.#heapBytes = isHeapLimitGiven() ? Math.min(allowed, getHeapStatistics().heap_size_limit) : allowed;
  }

  async run(message: unknown, { path, doing, failed }: ThreadTask<Answer>): Promise<Answer> {
    const task: Task = { path, doing, ...this.#limits };
    const seconds = secondsFor(task);
    this.#running.write(undefined);
    this.#worker ??= new (threads().Worker)(this.#url, {
      workerData: this.#running.buffer,
      resourceLimits: { maxOldGenerationSizeMb: Math.ceil(this.#heapBytes / 2 ** 20) },
    });
    const worker = this.#worker;
    const answer = await this.#answer(worker, message, seconds);
    if (!("lost" in answer)) return answer;
    this.#worker = undefined;
    const within = this.#running.read();
    // What is late may go on for long, and run out of memory on its way down: that is no news, and an event that nobody listens to.
    worker.on("error", () => {});
    await worker.terminate();
    const { lost } = answer;
    return failed(
      lost === "late" ? tooLate(task, seconds, within) : lossOf(task, lost, this.#heapBytes, within),
    );
  }

  #answer(worker: Worker, message: unknown, seconds: number): Promise<Answer | { readonly lost: unknown }> {
    return new Promise((resolve) => {
      const finish = (answer: Answer | { readonly lost: unknown }) => {
        clearTimeout(timer);
        worker.off("message", finish).off("error", fail).off("exit", end);
        resolve(answer);
      };
      const fail = (error: unknown) => finish({ lost: error });
      const end = (code: number) => fail(new ThreadEnded(code));
      const timer = setTimeout(() => fail("late"), timerMilliseconds(seconds));
      worker.on("message", finish).on("error", fail).on("exit", end);
      worker.postMessage(message);
    });
  }

  async close(): Promise<void> {
    await this.#worker?.terminate();
  }
}

/** Running out of memory is the model's doing, by its size; anything else is ours. */
function lossOf(task: Task, error: unknown, heapBytes: number, within: string | undefined): unknown {
  const isMemory = error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
  if (!isMemory) return error;
  return tooLarge(task, heapBytes, `${memoryAdvice}, and so does ${task.doing} it alone`, within);
}
