/** @file Trainings side by side: each fold of each family is one task of a worker thread, which runs the script's own bundle. */
import { availableParallelism } from "node:os";
import { parentPort, Worker } from "node:worker_threads";
import type { Family } from "../../src/cost/sketch.ts";
import type { Coefficients } from "../../src/cost/terms.ts";
import { at } from "./bins.ts";
import { folds, type Trained } from "./crossval.ts";
import type { Sample } from "./data.ts";
import { type Learned, predictFoldOf, startOf, trainAll } from "./family.ts";

/** Of one family. */
interface Task {
  readonly family: Family;
  readonly part: "start" | "all" | number;
  /** Of all parts but the start itself. */
  readonly start?: Coefficients;
}

/** In a worker: answers tasks until the pool closes it. */
export function serveTasks(samples: readonly Sample[]): void {
  const port = parentPort;
  if (port === null) throw new Error("no worker thread");
  port.on("message", (task: Task) => port.postMessage(answer(task, samples)));
}

function answer({ family, part, start }: Task, samples: readonly Sample[]): unknown {
  const own = samples.filter((sample) => sample.family === family);
  if (part === "start") return startOf(family, own);
  if (start === undefined) throw new Error(`${family} ${part}: no coefficients to start from`);
  return part === "all" ? trainAll(family, own, start) : predictFoldOf(family, own, start, part);
}

export class TrainingPool {
  readonly #script: string;
  readonly #idle: Worker[] = [];
  readonly #waiting: ((worker: Worker) => void)[] = [];
  readonly #all: Worker[] = [];

  /** `script`: the bundle that calls `serveTasks` where it is no main thread. */
  constructor(script: string) {
    this.#script = script;
  }

  async learn(family: Family, samples: number): Promise<Learned> {
    const started = Date.now();
    const start = (await this.#run({ family, part: "start" })) as Coefficients;
    const [trained, ...ofFolds] = await Promise.all([
      this.#run({ family, part: "all", start }) as Promise<Trained>,
      ...Array.from(
        { length: folds },
        (_, part) => this.#run({ family, part, start }) as Promise<Float64Array>,
      ),
    ]);
    const predicted = new Float64Array(samples);
    for (const ofFold of ofFolds)
      for (let index = 0; index < samples; index++)
        predicted[index] = at(predicted, index) + at(ofFold, index);
    console.log(`${family}: ${samples} samples, ${((Date.now() - started) / 1000).toFixed(0)} s`);
    return { start, predicted, trained };
  }

  async close(): Promise<void> {
    await Promise.all(this.#all.map((worker) => worker.terminate()));
  }

  async #run(task: Task): Promise<unknown> {
    const worker = await this.#free();
    const answered = new Promise((resolve, reject) => {
      worker.once("message", resolve);
      worker.once("error", reject);
    });
    worker.postMessage(task);
    const result = await answered;
    const next = this.#waiting.shift();
    if (next === undefined) this.#idle.push(worker);
    else next(worker);
    return result;
  }

  #free(): Promise<Worker> {
    const idle = this.#idle.pop();
    if (idle !== undefined) return Promise.resolve(idle);
    if (this.#all.length < availableParallelism()) {
      const worker = new Worker(this.#script);
      worker.setMaxListeners(0);
      this.#all.push(worker);
      return Promise.resolve(worker);
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
