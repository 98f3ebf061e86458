/** @file The process that uses the GPU, from outside: it may fault, hang or crash, and its parent lives on. */
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { InputError } from "../../src/ir/errors.ts";
import { bytesText, memoryShare } from "../../src/ir/memory.ts";
import { memorySignal } from "../../src/ir/memory-watch.ts";
import { timerMilliseconds } from "../../src/ir/time.ts";

/** What the child is sent. */
export interface ChildRequest<Task> {
  readonly task: Task;
  /** Resident memory of the host beyond which the child ends itself. */
  readonly memoryBytes: number;
}

/** What the child says. */
export type ChildAnswer<Result> =
  | { readonly kind: "done"; readonly result: Result }
  | { readonly kind: "progress"; readonly what: string }
  /** Without a code, it is a bug of ours, and the message is its stack. */
  | { readonly kind: "failed"; readonly code: string | undefined; readonly message: string };

export interface ProcessOptions {
  /** The child's script, which calls `serveTask`. */
  readonly childUrl: URL;
  /** 600 unless given. */
  readonly timeoutSeconds?: number | undefined;
  /** Resident memory of the child, on the host; three quarters of the machine's unless given. */
  readonly memoryBytes?: number | undefined;
  /** For the child, beside this process's. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Called with what is being done: "uploading weights". */
  readonly onProgress?: ((what: string) => void) | undefined;
}

const defaultTimeoutSeconds = 600;
/** Of what the child says on its way down, the end is kept. */
const maxStderrBytes = 4096;

/**
 * Throws InputError: what the task throws (`gpu-missing`, `gpu-driver-too-old`, `gpu-unsupported`, `gpu-out-of-memory`,
 * `gpu-fault`), or `gpu-hang`, `gpu-host-memory` and `gpu-crashed`. The task and the result are plain data.
 */
export async function runOnGpu<Task extends object, Result>(
  task: Task,
  options: ProcessOptions,
): Promise<Result> {
  // "advanced" carries typed arrays and maps. The parent's flags are not the child's: one may be an inspector's port.
  const child = fork(fileURLToPath(options.childUrl), {
    serialization: "advanced",
    stdio: ["ignore", "ignore", "pipe", "ipc"],
    execArgv: [],
    env: { ...process.env, ...options.env },
  });
  const timeoutSeconds = options.timeoutSeconds ?? defaultTimeoutSeconds;
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    child.kill("SIGKILL");
  }, timerMilliseconds(timeoutSeconds));
  try {
    return await answerOf<Task, Result>(child, task, options, () => (isLate ? timeoutSeconds : undefined));
  } finally {
    clearTimeout(timer);
    child.kill("SIGKILL");
  }
}

function answerOf<Task extends object, Result>(
  child: ChildProcess,
  task: Task,
  { onProgress, memoryBytes = memoryShare() }: ProcessOptions,
  overtime: () => number | undefined,
): Promise<Result> {
  let doing = "starting";
  let stderr = "";
  child.stderr?.on("data", (text: Buffer) => {
    stderr = (stderr + text.toString("utf8")).slice(-maxStderrBytes);
  });
  return new Promise((resolve, reject) => {
    child.on("message", (answer: ChildAnswer<Result>) => {
      if (answer.kind === "done") resolve(answer.result);
      else if (answer.kind === "failed") reject(failureOf(answer));
      else {
        doing = answer.what;
        onProgress?.(answer.what);
      }
    });
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      const seconds = overtime();
      if (seconds !== undefined) {
        const text = `the GPU's process was stopped after ${seconds} s, while at: ${doing}; it hangs, or needs a longer --timeout`;
        reject(new InputError("gpu-hang", text));
        return;
      }
      if (signal === memorySignal) {
        const text = `the GPU's process was stopped, while at: ${doing}; it takes more than ${bytesText(memoryBytes)} of this machine's memory`;
        reject(new InputError("gpu-host-memory", text));
        return;
      }
      const how = signal === null ? `with code ${code}` : `by ${signal}`;
      const last = stderr.trim() === "" ? "" : ` (${stderr.trim()})`;
      reject(new InputError("gpu-crashed", `the GPU's process ended ${how}, while at: ${doing}${last}`));
    });
    const request: ChildRequest<Task> = { task, memoryBytes };
    child.send(request, (error) => {
      // A child that is gone already says so by its exit.
      if (error !== null && child.exitCode === null && child.signalCode === null) reject(error);
    });
  });
}

/** As the child threw it. */
export function failureOf({ code, message }: Extract<ChildAnswer<never>, { kind: "failed" }>): Error {
  return code === undefined ? new Error(message) : new InputError(code, message);
}
