/** @file One task in a child process, within limits of time and memory. */
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { InputError } from "../ir/errors.ts";
import { bytesText, memoryShare } from "../ir/memory.ts";
import { memorySignal } from "../ir/memory-watch.ts";
import { timerMilliseconds } from "../ir/time.ts";
import type { ChildAnswer, ChildRequest, ChildResult, Work } from "./protocol.ts";

export interface ChildOptions {
  /** The script of the child process: `child.ts`, bundled. */
  readonly childUrl: URL;
  /** 600 unless given. */
  readonly timeoutSeconds?: number | undefined;
  /** Resident memory of the child; three quarters of the machine's, or the container's, unless given. */
  readonly memoryBytes?: number | undefined;
  /** Called with what is being done: "the candidate, normal, seed 1". */
  readonly onProgress?: ((what: string) => void) | undefined;
  /** Ends the child where its answer is no longer wanted: the promise is then rejected with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** ONNX Runtime ended the process that it ran in. */
export class CrashError extends InputError {
  /** What it was at. */
  readonly doing: string;

  constructor(message: string, doing: string) {
    super("verify-crashed", message);
    this.doing = doing;
  }
}

const defaultTimeoutSeconds = 600;
/** Of what the child says on its way down, the end is kept. */
const maxStderrBytes = 4096;

/**
 * Throws InputError: what the work throws, or `verify-timeout`, `verify-memory`, `verify-crashed`. `path` names the
 * model in these messages.
 */
export async function runInChild(work: Work, path: string, options: ChildOptions): Promise<ChildResult> {
  // "advanced" carries typed arrays and maps. The parent's flags are not the child's: one may be an inspector's port.
  const child = fork(fileURLToPath(options.childUrl), {
    serialization: "advanced",
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    execArgv: [],
  });
  return new Conversation(child, work, path, options).result();
}

class Conversation {
  readonly #child: ChildProcess;
  readonly #request: ChildRequest;
  readonly #path: string;
  readonly #timeoutSeconds: number;
  readonly #onProgress: ((what: string) => void) | undefined;
  readonly #signal: AbortSignal | undefined;
  #doing = "starting";
  #stderr = "";
  #isLate = false;

  constructor(child: ChildProcess, work: Work, path: string, options: ChildOptions) {
    const { memoryBytes = memoryShare(), timeoutSeconds = defaultTimeoutSeconds } = options;
    this.#child = child;
    this.#request = { work, memoryBytes };
    this.#path = path;
    this.#timeoutSeconds = timeoutSeconds;
    this.#onProgress = options.onProgress;
    this.#signal = options.signal;
  }

  async result(): Promise<ChildResult> {
    const timer = setTimeout(() => {
      this.#isLate = true;
      this.#child.kill("SIGKILL");
    }, timerMilliseconds(this.#timeoutSeconds));
    this.#child.stderr?.on("data", (text: Buffer) => {
      this.#stderr = (this.#stderr + text.toString("utf8")).slice(-maxStderrBytes);
    });
    try {
      return await this.#answer();
    } finally {
      clearTimeout(timer);
      this.#child.kill("SIGKILL");
    }
  }

  #answer(): Promise<ChildResult> {
    return new Promise((resolve, reject) => {
      this.#child.on("message", (answer: ChildAnswer) => {
        if (answer.kind === "failed") reject(errorOf(answer));
        else if (answer.kind !== "progress") resolve(answer);
        else {
          this.#doing = answer.what;
          this.#onProgress?.(answer.what);
        }
      });
      this.#signal?.addEventListener("abort", () => reject(this.#signal?.reason), { once: true });
      this.#child.once("error", reject);
      this.#child.once("exit", (code, signal) => reject(this.#lossOf(code, signal)));
      // What cannot be sent was for a child that is gone: its exit says why, which may be heard later.
      this.#child.send(this.#request, () => {});
    });
  }

  #lossOf(code: number | null, signal: NodeJS.Signals | null): InputError {
    const textOf = (what: string) => `${this.#path}: ${what}, while at: ${this.#doing}`;
    const fail = (kind: string, what: string) => new InputError(kind, textOf(what));
    if (this.#isLate) return fail("verify-timeout", `running it was stopped after ${this.#timeoutSeconds} s`);
    if (signal === memorySignal) {
      const limit = bytesText(this.#request.memoryBytes);
      return fail("verify-memory", `running it was stopped: it takes more than ${limit} of memory`);
    }
    const how = signal === null ? `with code ${code}` : `by ${signal}`;
    const last = this.#stderr.trim() === "" ? "" : ` (${this.#stderr.trim()})`;
    return new CrashError(textOf(`ONNX Runtime's process ended ${how}${last}`), this.#doing);
  }
}

function errorOf({ code, message }: Extract<ChildAnswer, { kind: "failed" }>): Error {
  return code === undefined ? new Error(message) : new InputError(code, message);
}
