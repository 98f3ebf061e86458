/** @file What Git is asked: read-only, through the git of whoever runs tc-lint, with nothing of a repository run but its filters. */
import { spawnSync } from "node:child_process";
import { InputError } from "../ir/errors.ts";

/** Names and hashes of models: far less than this. */
const mostBytes = 2 ** 30;

/** Settings of a repository that would begin programs, or change what is printed. */
const plainly = ["-c", "core.fsmonitor=false", "-c", "core.quotePath=false"] as const;

interface GitResult {
  readonly status: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** Throws InputError `no-git` where there is none. `into`: a file that its output goes to. */
export function runGit(folder: string, args: readonly string[], into?: number): GitResult {
  const { status, stdout, stderr, error, signal } = spawnSync("git", [...plainly, ...args], {
    cwd: folder,
    // No lock that another git waits for, no question that nobody answers, messages in one language.
    env: { ...process.env, GIT_OPTIONAL_LOCKS: "0", GIT_TERMINAL_PROMPT: "0", LC_ALL: "C" },
    stdio: ["ignore", into ?? "pipe", "pipe"],
    maxBuffer: mostBytes,
  });
  if (error !== undefined && "code" in error && error.code === "ENOENT")
    throw new InputError(
      "no-git",
      "git cannot be run: --base and --fail-on-untracked-data ask it what a repository has",
    );
  if (error !== undefined || status === null)
    throw failed(args, error?.message ?? `it was ended by ${signal ?? "a signal"}`);
  return { status, stdout: stdout ?? Buffer.alloc(0), stderr: String(stderr) };
}

/** Its output. Throws InputError `git-failed` with what git says where it fails. */
export function gitOutput(folder: string, args: readonly string[], into?: number): Buffer {
  const { status, stdout, stderr } = runGit(folder, args, into);
  if (status === 0) return stdout;
  refuseForeign(stderr);
  throw failed(args, stderr);
}

/** The root of the working tree that a folder is in; undefined where there is none. Throws InputError `foreign-repository`. */
export function repositoryRoot(folder: string): string | undefined {
  const { status, stdout, stderr } = runGit(folder, ["rev-parse", "--show-toplevel"]);
  if (status !== 0) refuseForeign(stderr);
  return status === 0 ? stdout.toString("utf8").replace(/\r?\n$/, "") : undefined;
}

/**
 * Git reads no repository of another user, as that of a checkout is in a container. To whoever sees it there, "no repository" would be wrong.
 * Throws InputError `foreign-repository`.
 */
export function refuseForeign(said: string): void {
  const [, root] = /dubious ownership in repository at '(.+)'/.exec(said) ?? [];
  if (root === undefined) return;
  const allow = `git config --global --add safe.directory "${root}"`;
  throw new InputError(
    "foreign-repository",
    `${root}: belongs to another user, and git reads it after: ${allow}`,
  );
}

/** One line of output, or undefined where git has none. */
export function gitLine(folder: string, args: readonly string[]): string | undefined {
  const { status, stdout } = runGit(folder, args);
  const line = stdout.toString("utf8").replace(/\r?\n$/, "");
  return status === 0 && line !== "" ? line : undefined;
}

function failed([command = ""]: readonly string[], said: string): InputError {
  const [first = ""] = said.trim().split("\n");
  return new InputError("git-failed", `git ${command}: ${first.replace(/^fatal: /, "")}`);
}
