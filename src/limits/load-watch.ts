/**
 * @file A thread that watches over the loading of code of a project, for a main thread that may loop in it: when the time is over it has
 * V8 end what runs there (loading.ts).
 */
import { isMainThread, workerData } from "node:worker_threads";
import { type LoadWatchData, loadStates } from "./watched.ts";

function watch({ state, milliseconds }: LoadWatchData): void {
  setTimeout(() => {
    const { loading, stopped } = loadStates;
    if (Atomics.compareExchange(state, 0, loading, stopped) === loading) void stop();
  }, milliseconds);
}

/** A loop of JavaScript, or a wait for memory that nobody changes. What waits for the system goes on. */
async function stop(): Promise<void> {
  const { Session } = await import("node:inspector");
  const session = new Session();
  session.connectToMainThread();
  session.post("Runtime.terminateExecution", () => session.disconnect());
}

if (!isMainThread) watch(workerData);
