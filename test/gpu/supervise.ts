/** @file Work items in child processes: one that faults, hangs or crashes costs its own result, not those of the others. */
import { type ChildProcess, fork } from "node:child_process";

/** Exit code of a child whose GPU context is lost after a result: the rest goes to another one. */
export const lostContext = 3;

export type FromChild<Result> =
  | { readonly kind: "starting"; readonly item: string }
  | { readonly kind: "done"; readonly item: string; readonly result: Result };

export interface SuperviseOptions<Result> {
  /** The bundle to fork, and what it is told beside `--items a,b,c`. */
  readonly script: string;
  readonly args: readonly string[];
  readonly items: readonly string[];
  /** Items given to one process. */
  readonly batch: number;
  readonly jobs: number;
  /** Silence after which a process is ended. */
  readonly seconds: number;
  readonly onResult: (item: string, result: Result) => void;
  /** An item whose process ended without a result. */
  readonly onLost: (item: string, how: string) => void;
}

export async function supervise<Result>(options: SuperviseOptions<Result>): Promise<void> {
  const queue = [...options.items];
  const worker = async () => {
    for (
      let items = queue.splice(0, options.batch);
      items.length > 0;
      items = queue.splice(0, options.batch)
    ) {
      for (let rest = items; rest.length > 0; ) rest = await runBatch(rest, options);
    }
  };
  await Promise.all(Array.from({ length: options.jobs }, worker));
}

/** Runs items in one process; returns those that it did not come to. */
function runBatch<Result>(items: readonly string[], options: SuperviseOptions<Result>): Promise<string[]> {
  const child = fork(options.script, [...options.args, "--items", items.join(",")]);
  const left = new Set(items);
  let current: string | undefined;
  let hasStarted = false;
  const watch = new Watch(child, options.seconds);
  child.on("message", (message: FromChild<Result>) => {
    watch.restart();
    hasStarted = true;
    current = message.kind === "starting" ? message.item : undefined;
    if (message.kind !== "done") return;
    left.delete(message.item);
    options.onResult(message.item, message.result);
  });
  return new Promise((resolve, reject) => {
    child.once("exit", (code, signal) => {
      watch.stop();
      const how = watch.isOver
        ? `no answer for ${options.seconds} s`
        : `the process ended by ${signal ?? `code ${code}`}`;
      if (!hasStarted) {
        reject(new Error(`${how} before it came to any work`));
        return;
      }
      const lost = current ?? (code === 0 || code === lostContext ? undefined : [...left][0]);
      if (lost !== undefined) {
        left.delete(lost);
        options.onLost(lost, how);
      }
      resolve([...left]);
    });
  });
}

/** Ends a process that is silent for too long. */
export class Watch {
  readonly #child: ChildProcess;
  readonly #milliseconds: number;
  #timer: NodeJS.Timeout | undefined;
  isOver = false;

  constructor(child: ChildProcess, seconds: number) {
    this.#child = child;
    this.#milliseconds = 1000 * seconds;
    this.restart();
  }

  restart(): void {
    this.stop();
    this.#timer = setTimeout(() => {
      this.isOver = true;
      this.#child.kill("SIGKILL");
    }, this.#milliseconds);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

/** For the child: tells the parent. */
export function tell<Result>(message: FromChild<Result>): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined) resolve();
    else process.send(message, () => resolve());
  });
}
