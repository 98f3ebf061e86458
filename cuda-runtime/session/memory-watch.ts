/** @file A thread that watches the memory of its process: the main one is inside the driver, or planning, for seconds. */
import { isMainThread, Worker, workerData } from "node:worker_threads";
import { memoryShare } from "../../src/ir/memory.ts";

const watchMilliseconds = 50;

/** How a process says that it used too much memory: nothing else sends this signal. */
export const memorySignal = "SIGUSR2";

export function defaultMemoryBytes(): number {
  return Math.floor(memoryShare());
}

/** Ends this process by `memorySignal` beyond that much resident memory. The thread runs the process's own script. */
export function startWatch(script: string, memoryBytes: number): void {
  new Worker(script, { workerData: memoryBytes }).unref();
}

/** Whether this is such a thread, which watches from now on. */
export function isWatching(): boolean {
  if (isMainThread) return false;
  const memoryBytes = Number(workerData);
  setInterval(() => {
    if (process.memoryUsage.rss() > memoryBytes) process.kill(process.pid, memorySignal);
  }, watchMilliseconds);
  return true;
}
