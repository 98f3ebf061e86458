/**
 * @file A limit of time for loading code of a project: a configuration, a plugin (docs/adr/0014-budgets.md). `import` is asynchronous, so
 * that no script of node:vm has the module's own code inside, as guard.ts has other work: the inspector ends it, asked by a thread.
 */
import type { Worker } from "node:worker_threads";
import { InputError } from "../ir/errors.ts";
import { timerMilliseconds } from "../ir/time.ts";
import { threads } from "./threads.ts";
import { type LoadWatchData, loadStates } from "./watched.ts";

/** Of code that declares what is looked for; whatever it imports is read within milliseconds. */
const standardSeconds = 60;
/** A main thread that is free sees by itself that it is late. */
const graceMilliseconds = 200;

/**
 * What `load` gives. Throws InputError `timeout` where that takes longer, be it in a loop. In a worker thread none but the timer
 * watches: whoever began the thread ends it.
 */
export async function loadWithin<T>(
  seconds: number | undefined = standardSeconds,
  shown: string,
  load: () => Promise<T>,
): Promise<T> {
  const milliseconds = timerMilliseconds(seconds);
  const end = performance.now() + milliseconds;
  const state = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  const watch = threads().isMainThread
    ? watchLoading({ state, milliseconds: milliseconds + graceMilliseconds })
    : undefined;
  let look = () => {};
  const late = new Promise<never>((_, reject) => {
    look = () => {
      if (performance.now() >= end) reject(tooLate(shown, seconds));
    };
  });
  // Neither keeps a process that awaits what never comes and has nothing else to do: that is said at once (last-words.ts).
  const timer = setTimeout(look, milliseconds + 1).unref();
  process.on("beforeExit", look);
  try {
    return await Promise.race([load(), late]);
  } finally {
    Atomics.compareExchange(state, 0, loadStates.loading, loadStates.over);
    clearTimeout(timer);
    process.off("beforeExit", look);
    void watch?.terminate();
  }
}

function tooLate(shown: string, seconds: number): InputError {
  const limit = Number(seconds.toPrecision(3));
  return new InputError(
    "timeout",
    `${shown}: loading it was stopped after ${limit} s; --timeout allows more`,
  );
}

function watchLoading(data: LoadWatchData): Worker {
  const worker = new (threads().Worker)(new URL("../load-watch.js", import.meta.url), {
    workerData: data,
    stdin: false,
    resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 4 },
  });
  // A system that has no thread left to give, or a Node without an inspector, leaves loops to the user.
  worker.on("error", () => {});
  worker.unref();
  return worker;
}
