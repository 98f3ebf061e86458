/**
 * @file A thread that watches the memory of its process, for a main thread that is busy: beyond the limit it interrupts it
 * as Ctrl-C would (guard.ts).
 */
import { isMainThread, workerData } from "node:worker_threads";
import { invariant } from "../ir/errors.ts";

/** Of the first word of what both threads see. */
export const watchStates = { idle: 0, watching: 1, exceeded: 2, signalled: 3 } as const;

export interface WatchData {
  /** One of `watchStates`. */
  readonly state: Int32Array;
  /** Resident bytes of the process. */
  readonly limit: Float64Array;
}

const watchMilliseconds = 20;

if (!isMainThread) watch(workerData);

function watch({ state, limit }: WatchData): void {
  invariant(
    state instanceof Int32Array && limit instanceof Float64Array,
    "memory-watch.ts is told what to watch",
  );
  setInterval(() => {
    if (process.memoryUsage.rss() <= (limit[0] ?? 0)) return;
    const { watching, exceeded, signalled } = watchStates;
    if (Atomics.compareExchange(state, 0, watching, exceeded) !== watching) return;
    process.kill(process.pid, "SIGINT");
    Atomics.store(state, 0, signalled);
    Atomics.notify(state, 0);
  }, watchMilliseconds);
}
