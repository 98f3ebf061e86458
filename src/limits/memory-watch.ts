/**
 * @file A thread that watches the memory of its process, for a main thread that is busy: beyond a limit it interrupts it
 * as Ctrl-C would (guard.ts).
 */
import type { Session } from "node:inspector";
import { isMainThread, workerData } from "node:worker_threads";
import { invariant } from "../ir/errors.ts";
import { type WatchData, watchBytes, watchStates } from "./watched.ts";

const watchMilliseconds = 20;

function watch({ state, bytes }: WatchData): void {
  invariant(
    state instanceof Int32Array && bytes instanceof Float64Array,
    "memory-watch.ts is told what to watch",
  );
  const heap = new MainHeap();
  const stop = (place: number) => {
    const { watching, exceeded, signalled } = watchStates;
    if (Atomics.compareExchange(state, 0, watching, exceeded) !== watching) return;
    bytes[watchBytes.passed] = bytes[place] ?? 0;
    process.kill(process.pid, "SIGINT");
    Atomics.store(state, 0, signalled);
    Atomics.notify(state, 0);
  };
  setInterval(() => {
    if (Atomics.load(state, 0) !== watchStates.watching) return;
    const resident = process.memoryUsage.rss();
    const { resident: most, heap: objects } = watchBytes;
    if (resident > (bytes[most] ?? 0)) stop(most);
    else if (resident > (bytes[objects] ?? 0)) heap.check(bytes[objects] ?? 0, () => stop(objects));
  }, watchMilliseconds);
}

/** So many looks in a row at a full heap: what is garbage, V8 has collected by then, for it is near its limit. */
const looksInARow = 4;

/** JavaScript's objects of the main thread, which V8 lets no other count: the inspector asks it, in the midst of its work. */
class MainHeap {
  #session: Session | undefined;
  #isAsking = false;
  #timesFull = 0;

  /** Calls `onPassed` where objects take more than that again and again. */
  check(limitBytes: number, onPassed: () => void): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    const onUsed = (used: number) => {
      this.#timesFull = used > limitBytes ? this.#timesFull + 1 : 0;
      if (this.#timesFull >= looksInARow) onPassed();
      this.#isAsking = false;
    };
    // A Node that was built without an inspector is not asked again; its resident memory is watched all the same.
    this.#usedBytes().then(onUsed, () => {});
  }

  async #usedBytes(): Promise<number> {
    this.#session ??= await connect();
    return usedBytes(this.#session);
  }
}

async function connect(): Promise<Session> {
  const { Session } = await import("node:inspector");
  const session = new Session();
  session.connectToMainThread();
  return session;
}

function usedBytes(session: Session): Promise<number> {
  return new Promise((resolve, reject) => {
    session.post("Runtime.getHeapUsage", (error: Error | null, usage?: { usedSize?: number }) => {
      if (error === null && usage?.usedSize !== undefined) resolve(usage.usedSize);
      else reject(error ?? new Error("the inspector names no size of the heap"));
    });
  });
}

if (!isMainThread) watch(workerData);
