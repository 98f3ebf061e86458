/** @file The GPU's process below a profiler, which does not pass on the channel to its parent: the task and the answer are files. */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { deserialize, serialize } from "node:v8";
import { memoryShare } from "../../src/ir/memory.ts";
import { timerMilliseconds } from "../../src/ir/time.ts";
import type { ChildAnswer, ChildRequest, ProcessOptions } from "./process.ts";

const flag = "--task-folder";
const requestFile = "request";
const answerFile = "answer";

/** For the child: its task, where it is given by a folder. */
export function taskFolder<Task, Result>(
  argv: readonly string[],
):
  | {
      readonly request: () => ChildRequest<Task>;
      readonly answer: (answer: ChildAnswer<Result>) => Promise<void>;
    }
  | undefined {
  const folder = argv[2] === flag ? argv[3] : undefined;
  if (folder === undefined) return undefined;
  return {
    request: () => deserialize(readFileSync(join(folder, requestFile))),
    answer: async (answer) => {
      // What it is at is for a parent that listens.
      if (answer.kind !== "progress") writeFileSync(join(folder, answerFile), serialize(answer));
    },
  };
}

export interface WrappedOptions extends Omit<ProcessOptions, "onProgress"> {
  /** The program around the child, and its arguments before the child's command. */
  readonly command: string;
  readonly args: readonly string[];
  /** Told each line that the program prints. */
  readonly onLine?: ((line: string) => void) | undefined;
}

export interface WrappedRun<Result> {
  /** Undefined where the child came to none. */
  readonly answer: Exclude<ChildAnswer<Result>, { readonly kind: "progress" }> | undefined;
  /** What the program and the child printed, stdout first. */
  readonly output: string;
  readonly isLate: boolean;
}

/** Undefined where there is no such program. The task and the result are plain data. */
export async function runWrapped<Task extends object, Result>(
  task: Task,
  options: WrappedOptions,
): Promise<WrappedRun<Result> | undefined> {
  const folder = mkdtempSync(join(tmpdir(), "tc-lint-"));
  try {
    const request: ChildRequest<Task> = { task, memoryBytes: options.memoryBytes ?? memoryShare() };
    writeFileSync(join(folder, requestFile), serialize(request));
    const child = [process.execPath, fileURLToPath(options.childUrl), flag, folder];
    const ended = await endOf([...options.args, ...child], options);
    if (ended === undefined) return undefined;
    const file = join(folder, answerFile);
    return { ...ended, answer: existsSync(file) ? deserialize(readFileSync(file)) : undefined };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const defaultTimeoutSeconds = 600;

function endOf(
  args: readonly string[],
  { command, env, onLine, timeoutSeconds = defaultTimeoutSeconds }: WrappedOptions,
): Promise<{ output: string; isLate: boolean } | undefined> {
  // A group of its own, so that what it starts ends with it.
  const child = spawn(command, args, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
    detached: true,
  });
  const texts = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].setEncoding("utf8").on("data", (text: string) => {
      texts[name] += text;
      for (const line of text.split("\n")) onLine?.(line);
    });
  return new Promise((resolve, reject) => {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    }, timerMilliseconds(timeoutSeconds));
    child.once("error", (error) => {
      clearTimeout(timer);
      if ("code" in error && error.code === "ENOENT") resolve(undefined);
      else reject(error);
    });
    child.once("close", () => {
      clearTimeout(timer);
      resolve({ output: `${texts.stdout}\n${texts.stderr}`, isLate });
    });
  });
}
