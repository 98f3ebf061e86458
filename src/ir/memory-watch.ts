/**
 * @file A thread that watches the memory of its process and ends it, in processes that take one task: the main thread is
 * inside ONNX Runtime or the driver, or planning, for seconds and minutes. A process that lives on has one of its own
 * (limits/memory-watch.ts).
 */
import { isMainThread, Worker, workerData } from "node:worker_threads";

const watchMilliseconds = 50;

/** How a process says that it used too much memory: nothing else sends this signal. */
export const memorySignal = "SIGUSR2";

/** Ends this process by `memorySignal` beyond that much resident memory. The thread runs the process's own script. */
export function startWatch(script: string | URL, memoryBytes: number): void {
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
