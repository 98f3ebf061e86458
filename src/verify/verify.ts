/** @file Are two models the same function? Both are run in a child process, within limits of time and memory. */
import { type ChildProcess, fork } from "node:child_process";
import { totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { InputError } from "../ir/errors.ts";
import { type Budget, budgets } from "./budget.ts";
import type { Lanes } from "./compare.ts";
import { type ChildAnswer, type ChildRequest, memorySignal } from "./protocol.ts";
import type { GivenSizes } from "./sizes.ts";
import type { Tensors } from "./tensor.ts";
import type { VerifyOutcome } from "./verify-here.ts";

export interface VerifyOptions {
  /** The script of the child process: `child.ts`, bundled. */
  readonly childUrl: URL;
  /** How far outputs may be apart; `budgets.padding` unless given. */
  readonly budget?: Budget | undefined;
  /** How many draws of normal inputs, beside large, negative and zero ones; 2 unless given. */
  readonly seeds?: number | undefined;
  /** Sizes of symbolic axes, by symbol. Two that the original takes are found for all others. */
  readonly sizes?: GivenSizes | undefined;
  /** Inputs to use instead of drawn ones, by name. */
  readonly inputs?: Tensors | undefined;
  /** Of values that the candidate pads, by name: positions of the original's elements along each axis. */
  readonly lanes?: ReadonlyMap<string, Lanes> | undefined;
  /** Of inputs and outputs that the candidate has transposed: its axis i is the original's axis p[i]. */
  readonly permutations?: ReadonlyMap<string, readonly number[]> | undefined;
  /** 600 unless given. */
  readonly timeoutSeconds?: number | undefined;
  /** Resident memory of the child; three quarters of the machine's unless given. */
  readonly memoryBytes?: number | undefined;
  readonly threads?: number | undefined;
  /** Called with what is being done: "the candidate, normal, seed 1". */
  readonly onProgress?: ((what: string) => void) | undefined;
}

const defaultSeeds = 2;
const defaultTimeoutSeconds = 600;
const defaultMemoryShare = 0.75;
/** Of what the child says on its way down, the end is kept. */
const maxStderrBytes = 4096;

/**
 * Runs both models on the same inputs and compares what they give. The outcome's report says `same`, or where they
 * differ. Throws InputError where that cannot be found out: `onnxruntime-missing`, `weights-missing`,
 * `random-operator`, `cannot-run` (the original), `verify-timeout`, `verify-memory`, `verify-crashed`.
 */
export async function compareModels(
  original: string,
  candidate: string,
  options: VerifyOptions,
): Promise<VerifyOutcome> {
  const memoryBytes = options.memoryBytes ?? defaultMemoryShare * totalmem();
  const request: ChildRequest = {
    memoryBytes,
    task: {
      original,
      candidate,
      budget: options.budget ?? budgets.padding,
      seeds: options.seeds ?? defaultSeeds,
      sizes: options.sizes ?? {},
      inputs: options.inputs,
      lanes: options.lanes ?? new Map(),
      permutations: options.permutations ?? new Map(),
      threads: options.threads,
    },
  };
  // "advanced" carries typed arrays and maps. The parent's flags are not the child's: one may be an inspector's port.
  const child = fork(fileURLToPath(options.childUrl), {
    serialization: "advanced",
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    execArgv: [],
  });
  return new Conversation(child, request, options).outcome();
}

class Conversation {
  readonly #child: ChildProcess;
  readonly #request: ChildRequest;
  readonly #options: VerifyOptions;
  #doing = "starting";
  #stderr = "";
  #isLate = false;

  constructor(child: ChildProcess, request: ChildRequest, options: VerifyOptions) {
    this.#child = child;
    this.#request = request;
    this.#options = options;
  }

  async outcome(): Promise<VerifyOutcome> {
    const seconds = this.#options.timeoutSeconds ?? defaultTimeoutSeconds;
    const timer = setTimeout(() => {
      this.#isLate = true;
      this.#child.kill("SIGKILL");
    }, seconds * 1000);
    this.#child.stderr?.on("data", (text: Buffer) => {
      this.#stderr = (this.#stderr + text.toString("utf8")).slice(-maxStderrBytes);
    });
    try {
      return await this.#answer(seconds);
    } finally {
      clearTimeout(timer);
      this.#child.kill("SIGKILL");
    }
  }

  #answer(seconds: number): Promise<VerifyOutcome> {
    return new Promise((resolve, reject) => {
      this.#child.on("message", (answer: ChildAnswer) => {
        if (answer.kind === "done") resolve(answer.outcome);
        else if (answer.kind === "failed") reject(errorOf(answer));
        else {
          this.#doing = answer.what;
          this.#options.onProgress?.(answer.what);
        }
      });
      this.#child.once("error", reject);
      this.#child.once("exit", (code, signal) => reject(this.#lossOf(code, signal, seconds)));
      this.#child.send(this.#request, (error) => {
        // A child that is gone already says so by its exit.
        if (error !== null && this.#child.exitCode === null && this.#child.signalCode === null) reject(error);
      });
    });
  }

  #lossOf(code: number | null, signal: NodeJS.Signals | null, seconds: number): InputError {
    const { candidate } = this.#request.task;
    const at = `while at: ${this.#doing}`;
    if (this.#isLate) {
      return new InputError(
        "verify-timeout",
        `${candidate}: comparing was stopped after ${seconds} s, ${at}`,
      );
    }
    if (signal === memorySignal) {
      const gigabytes = (this.#request.memoryBytes / 2 ** 30).toFixed(1);
      return new InputError(
        "verify-memory",
        `${candidate}: comparing was stopped, it takes more than ${gigabytes} GiB of memory, ${at}`,
      );
    }
    const how = signal === null ? `with code ${code}` : `by ${signal}`;
    const last = this.#stderr.trim() === "" ? "" : `; it said: ${this.#stderr.trim()}`;
    return new InputError(
      "verify-crashed",
      `${candidate}: ONNX Runtime's process ended ${how}, ${at}${last}`,
    );
  }
}

function errorOf({ code, message }: Extract<ChildAnswer, { kind: "failed" }>): Error {
  return code === undefined ? new Error(message) : new InputError(code, message);
}
