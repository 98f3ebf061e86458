/**
 * @file Limits of time and memory for synchronous work in the main thread (docs/adr/0014-budgets.md).
 *
 * The work runs as a script of node:vm, which a timer of its own, or a signal, ends wherever it is. What it opened stays open, its
 * `finally` blocks do not run: it must not leave anything half written.
 */
import { statSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext, Script } from "node:vm";
import type { Worker } from "node:worker_threads";
import { InputError } from "../ir/errors.ts";
import { bytesText, memoryShare } from "../ir/memory.ts";
import { forgetStopped, stoppedIn } from "../ir/running.ts";
import { steadyMilliseconds, timerMilliseconds } from "../ir/time.ts";
import { liveBound, oldSpaceBytes } from "./heap.ts";
import { type OnRead, ReadTooMuch } from "./reading.ts";
import { threads } from "./threads.ts";
import { type WatchData, watchBytes, watchStates } from "./watched.ts";

/** What the user allows; undefined leaves it to what the file justifies. */
export interface Limits {
  readonly timeoutSeconds?: number | undefined;
  readonly memoryBytes?: number | undefined;
}

export interface Task extends Limits {
  readonly path: string;
  readonly doing: "linting" | "comparing" | "fixing" | "planning";
}

const bytesInMebibyte = 2 ** 20;
const bytesInGibibyte = 2 ** 30;
/** A second and a half of linting makes less than a gigabyte of objects. */
const quickMilliseconds = 1500;
const quickMemoryBytes = 2 * bytesInGibibyte;
const quickBytes = 16 * bytesInMebibyte;
/** Far beyond what models of the zoo take on a slow machine (bench/results/scale.json). */
const allowances = {
  linting: { seconds: 60, secondsPerMebibyte: 5, mostSeconds: 3600 },
  comparing: { seconds: 120, secondsPerMebibyte: 10, mostSeconds: 2 * 3600 },
  planning: { seconds: 300, secondsPerMebibyte: 30, mostSeconds: 4 * 3600 },
  fixing: { seconds: 300, secondsPerMebibyte: 30, mostSeconds: 4 * 3600 },
} as const;

/** Seconds that a task may take: what was asked for, else by the size of its file. */
export function secondsFor({ path, doing, timeoutSeconds }: Task): number {
  if (timeoutSeconds !== undefined) return timeoutSeconds;
  const { seconds, secondsPerMebibyte, mostSeconds } = allowances[doing];
  return Math.min(seconds + secondsPerMebibyte * (sizeOf(path) / bytesInMebibyte), mostSeconds);
}

/** In bytes; 0 where it cannot be told: opening it says what is wrong with a path. */
export function sizeOf(path: string): number {
  try {
    return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  } catch (error) {
    if (error instanceof Error && "syscall" in error) return 0;
    throw error;
  }
}

/** `within`: whose code it was in; undefined where that is tc-lint's own. */
export function tooLate({ path, doing }: Task, seconds: number, within: string | undefined): InputError {
  const limit = Number(seconds.toPrecision(3));
  const message = `${path}: ${doing} it was stopped after ${limit} s${withinText(within)}; --timeout allows more`;
  return new InputError("timeout", message);
}

export function tooLarge(
  { path, doing }: Task,
  bytes: number,
  advice: string,
  within: string | undefined,
): InputError {
  return outOfMemory({ path, doing }, `${bytesText(bytes)} of memory; ${advice}`, within);
}

/** Of objects, of which V8 has room for some: what its limit leaves beside the program itself is no figure that anybody set. */
function tooManyObjects(task: Task, within: string | undefined): InputError {
  const room = `V8's limit of ${bytesText(oldSpaceBytes())} leaves it`;
  return outOfMemory(task, `${room}; a larger --max-old-space-size of Node's allows more`, within);
}

function outOfMemory({ path, doing }: Task, what: string, within: string | undefined): InputError {
  const message = `${path}: ${doing} it was stopped${withinText(within)}: it takes more than ${what}`;
  return new InputError("out-of-memory", message);
}

function withinText(within: string | undefined): string {
  return within === undefined ? "" : ` in ${within}`;
}

export const memoryAdvice = "--memory-gb, or a larger --max-old-space-size of Node's, allows more";

/** One task's deadline, from now on, and its bound on memory. */
export class Guard {
  readonly #task: Task;
  readonly #seconds: number;
  readonly #memoryBytes: number;
  readonly #end: number;

  constructor(task: Task) {
    this.#task = task;
    this.#seconds = secondsFor(task);
    this.#memoryBytes = task.memoryBytes ?? memoryShare();
    this.#end = steadyMilliseconds() + 1000 * this.#seconds;
  }

  /** For a child process, where the user set a limit; undefined leaves it the child's own. */
  get timeoutSeconds(): number | undefined {
    return this.#task.timeoutSeconds === undefined ? undefined : Math.max(this.#millisecondsLeft, 1) / 1000;
  }

  get #millisecondsLeft(): number {
    return this.#end - steadyMilliseconds();
  }

  /**
   * Like `run`, of work that may be begun again. Most models are done before the thread that watches memory would be there:
   * theirs is started for those that are not.
   */
  runRepeatable<T>(work: () => T): T {
    if (sizeOf(this.#task.path) > quickBytes) return this.run(work);
    return this.#quickly(work, work);
  }

  /**
   * The same of work that says what it reads: of a larger file, most is weights, which nobody reads. What reads more than a quick model
   * has is ended by what `onRead` throws, which the work must let pass.
   */
  runReading<T>(work: (onRead: OnRead | undefined) => T): T {
    let read = 0;
    const onRead = (bytes: number) => {
      read += bytes;
      if (read > quickBytes) throw new ReadTooMuch();
    };
    return this.#quickly(
      () => work(onRead),
      () => work(undefined),
    );
  }

  /** `first` without the thread that watches memory; `again` with it, where that was not quick. */
  #quickly<T>(first: () => T, again: () => T): T {
    const left = Math.min(this.#millisecondsLeft, quickMilliseconds);
    if (this.#memoryBytes < quickMemoryBytes || left <= 0) return this.run(again);
    try {
      return stoppable(first, left);
    } catch (error) {
      if (hasCode(error, stops.signal)) return interrupted(error);
      if (!hasCode(error, stops.timer) && !(error instanceof ReadTooMuch)) throw error;
    }
    collectGarbage();
    return this.run(again);
  }

  /** What `work` returns or throws; InputError `timeout` or `out-of-memory` where it is stopped. Not within itself. */
  run<T>(work: () => T): T {
    const left = this.#millisecondsLeft;
    if (left <= 0) throw tooLate(this.#task, this.#seconds, undefined);
    try {
      return stoppable(() => memoryWatch.during(this.#memoryBytes, work), timerMilliseconds(left / 1000));
    } catch (error) {
      if (hasCode(error, stops.timer)) throw tooLate(this.#task, this.#seconds, stoppedIn());
      if (!hasCode(error, stops.signal)) throw error;
      if (!memoryWatch.wasExceeded) return interrupted(error);
      releaseMemory(memoryWatch.passedBytes);
      if (memoryWatch.isOfObjects) throw tooManyObjects(this.#task, stoppedIn());
      throw tooLarge(this.#task, memoryWatch.passedBytes, memoryAdvice, stoppedIn());
    } finally {
      memoryWatch.end();
    }
  }
}

/** Node's codes of what ends a script. */
const stops = {
  timer: "ERR_SCRIPT_EXECUTION_TIMEOUT",
  signal: "ERR_SCRIPT_EXECUTION_INTERRUPTED",
} as const;

/** Where the script finds its work: what it calls is stopped with it. */
const workKey = "__tcLintWork";
const script = new Script(`globalThis.${workKey}()`, { filename: "tc-lint-guard" });

function stoppable<T>(work: () => T, milliseconds: number): T {
  let result: { readonly value: T } | undefined;
  const run = () => {
    result = { value: work() };
  };
  forgetStopped();
  Object.defineProperty(globalThis, workKey, { value: run, configurable: true });
  try {
    const timeout = Math.ceil(milliseconds);
    script.runInThisContext({ timeout, breakOnSigint: true, displayErrors: false });
  } finally {
    Reflect.deleteProperty(globalThis, workKey);
  }
  if (result === undefined) throw new Error("tc-lint bug: guarded work ended without a result");
  return result.value;
}

/** What was given up would count against the next task. */
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc()");
}

const mostReleases = 25;
const releaseMilliseconds = 20;

/** The same until it is given back: V8's own threads do that, which may have to wait for a busy machine. */
function releaseMemory(passedBytes: number): void {
  const nothing = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  for (let times = 0; times < mostReleases; times++) {
    collectGarbage();
    if (process.memoryUsage.rss() <= passedBytes) return;
    Atomics.wait(nothing, 0, 0, releaseMilliseconds);
  }
}

/** The user's Ctrl-C, on its way to whoever handles it: cleanup.ts, or the system. */
function interrupted(error: unknown): never {
  if (process.listenerCount("SIGINT") > 0) process.emit("SIGINT", "SIGINT");
  else process.kill(process.pid, "SIGINT");
  throw error;
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

/** Within it the watching thread has sent its signal; it takes microseconds. */
const handshakeMilliseconds = 1000;

/** One thread for all tasks of the process, from the first on. */
class MemoryWatch {
  readonly #data: WatchData = {
    state: new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)),
    bytes: new Float64Array(new SharedArrayBuffer(3 * Float64Array.BYTES_PER_ELEMENT)),
  };
  #worker: Worker | undefined;

  /** Within a script that a signal stops: before it and behind it, the signal would end the process. `end` is still to be called. */
  during<T>(limitBytes: number, work: () => T): T {
    // There a signal to itself ends a process.
    if (process.platform === "win32") return work();
    const { state, bytes } = this.#data;
    bytes[watchBytes.resident] = limitBytes;
    bytes[watchBytes.heap] = liveBound();
    Atomics.store(state, 0, watchStates.watching);
    this.#worker ??= this.#start();
    try {
      return work();
    } finally {
      this.#stopWatching();
    }
  }

  get wasExceeded(): boolean {
    return Atomics.load(this.#data.state, 0) > watchStates.watching;
  }

  /** The limit that the work met. */
  get passedBytes(): number {
    return this.#data.bytes[watchBytes.passed] ?? 0;
  }

  /** Whether that was the limit of live objects, and not of resident memory. */
  get isOfObjects(): boolean {
    const { resident, heap } = watchBytes;
    const { bytes } = this.#data;
    return this.passedBytes === bytes[heap] && bytes[heap] !== bytes[resident];
  }

  /** The work is over, or was stopped. A signal that is on its way still is taken here: it would end the process, or stop the next task. */
  end(): void {
    if (!this.#stopWatching()) return;
    const ignore = () => {};
    process.on("SIGINT", ignore);
    setImmediate(() => process.off("SIGINT", ignore));
    Atomics.store(this.#data.state, 0, watchStates.idle);
  }

  /** From now on no signal is sent. Whether one was. */
  #stopWatching(): boolean {
    const { state } = this.#data;
    const { idle, watching, exceeded } = watchStates;
    if (Atomics.compareExchange(state, 0, watching, idle) <= watching) return false;
    Atomics.wait(state, 0, exceeded, handshakeMilliseconds);
    return true;
  }

  #start(): Worker {
    const worker = new (threads().Worker)(new URL("../memory-watch.js", import.meta.url), {
      workerData: this.#data,
      stdin: false,
      resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 4 },
    });
    // A system that has no thread left to give leaves memory to V8's own limit.
    worker.on("error", () => {});
    worker.unref();
    return worker;
  }
}

const memoryWatch = new MemoryWatch();
