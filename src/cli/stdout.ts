/**
 * @file The way out: what is written to stdout arrives there, or the command fails. Imports nothing but Node's own: `--version` waits
 * for it.
 */
import { readFileSync, readlinkSync } from "node:fs";
import { basename } from "node:path";

/** What stdout did not take. */
export class StdoutError extends Error {
  override readonly name = "StdoutError";
}

let isWritten = false;

/** Whether something went there, be it a part of it. */
export function hasWritten(): boolean {
  return isWritten;
}

/** Resolves once the text is handed to the system. A reader that went away (`| head`) is no error. Throws StdoutError. */
export async function writeStdout(text: string): Promise<void> {
  if (text === "") return;
  if (isClosed()) throw new StdoutError("stdout cannot be written to: it is closed");
  isWritten = true;
  await new Promise<void>((resolve, reject) => {
    const settle = (error: Error | null | undefined) => {
      if (error === null || error === undefined || codeOf(error) === "EPIPE") resolve();
      else reject(new StdoutError(`stdout cannot be written to (${codeOf(error)})`, { cause: error }));
    };
    // The stream says it twice; without a listener the second time ends the process with a stack.
    process.stdout.once("error", settle);
    process.stdout.write(text, (error) => {
      settle(error);
      if (error === null || error === undefined) process.stdout.off("error", settle);
    });
  });
}

/** For what goes to stdout by another way: where it does not arrive, the process ends with 2. */
export function guardStdout(): void {
  process.stdout.on("error", (error) => {
    if (codeOf(error) === "EPIPE") return;
    process.exitCode = 2;
  });
  // Where stderr is gone too, nobody is left to be told.
  process.stderr.on("error", () => {});
}

/** Runs all of a process's work: where stdout does not take what it writes, that is said, and the process ends with 2. */
export async function withGuardedStdout(work: () => Promise<void>): Promise<void> {
  guardStdout();
  try {
    await work();
  } catch (error) {
    if (!(error instanceof StdoutError)) throw error;
    process.stderr.write(`tc-lint: ${error.message}\n`);
    process.exitCode = 2;
  }
}

const nowhere = "/dev/null";

/**
 * Whether the shell that began this process closed stdout (`>&-`). Node puts /dev/null in its place, open for reading too: so do
 * programs that throw output away (`stdio: "ignore"`, Python's DEVNULL), which is no failure, but no shell.
 */
function isClosed(): boolean {
  if (process.platform !== "linux") return false;
  try {
    if (readlinkSync("/proc/self/fd/1") !== nowhere) return false;
    const [, flags = "0"] = /^flags:\s*([0-7]+)/m.exec(readFileSync("/proc/self/fdinfo/1", "latin1")) ?? [];
    const [accessMode, readsAndWrites] = [3, 2];
    if ((Number.parseInt(flags, 8) & accessMode) !== readsAndWrites) return false;
    const parent = `/proc/${process.ppid}`;
    return shells.test(basename(readlinkSync(`${parent}/exe`))) && stdoutOf(parent) !== nowhere;
  } catch (error) {
    // Where the system does not tell (no /proc, a parent of another user), the report is written as ever.
    if (error instanceof Error && "syscall" in error) return false;
    throw error;
  }
}

const shells = /^(?:sh|bash|dash|ash|zsh|fish|m?ksh\d*|busybox)$/;

/** What the process of a folder of /proc hands on to what it begins; undefined where it has closed its own. */
function stdoutOf(folder: string): string | undefined {
  try {
    return readlinkSync(`${folder}/fd/1`);
  } catch (error) {
    if (error instanceof Error && codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

function codeOf(error: Error): string {
  return "code" in error ? String(error.code) : error.message;
}
