/** @file Runs the built command line with a given environment: not the test runner's colours, not CI's. */
import { spawn } from "node:child_process";
import { type BuiltCli, withoutProgress } from "../cli-process.ts";

export interface Run {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Sent after the process has written this much to neither output for this long. */
  readonly interruptAfterMilliseconds?: number;
}

export function run(cli: BuiltCli, args: readonly string[], options: RunOptions): Promise<Run> {
  const { PATH = "" } = process.env;
  const child = spawn(process.execPath, [cli.script, ...args], {
    cwd: options.cwd,
    env: { PATH, ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 150_000,
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    stdout += chunk;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    stderr += chunk;
  });
  if (options.interruptAfterMilliseconds !== undefined) {
    setTimeout(() => child.kill("SIGINT"), options.interruptAfterMilliseconds);
  }
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (exitCode, signal) =>
      resolve({ exitCode, signal, stdout, stderr: withoutProgress(stderr) }),
    );
  });
}
