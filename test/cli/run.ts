/** @file Runs the built command line with a given environment: not the test runner's colours, not CI's. */
import { spawn } from "node:child_process";
import { type BuiltCli, leastEnvironment, withoutProgress } from "../cli-process.ts";
import { type Ended, isForResident, runResident } from "../resident.ts";

export type Run = Ended;

export interface RunOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Sent after the process has written this much to neither output for this long. */
  readonly interruptAfterMilliseconds?: number;
  /** Where the test is of the process. */
  readonly inOwnProcess?: boolean;
}

const mostMilliseconds = 150_000;

/** In a process that has the program, where that is no different (resident.ts). */
export async function run(cli: BuiltCli, args: readonly string[], options: RunOptions): Promise<Run> {
  const { cwd, env: own = {}, interruptAfterMilliseconds, inOwnProcess = false } = options;
  const env = { ...leastEnvironment(), ...own };
  const isOfProcess = inOwnProcess || interruptAfterMilliseconds !== undefined || !isForResident(own);
  if (isOfProcess || isAnsweredAtOnce(args) || cli.shared === undefined)
    return await runInOwn(cli, args, options);
  const ended = await runResident(cli.shared, { args, cwd, env }, mostMilliseconds);
  return { ...ended, stderr: withoutProgress(ended.stderr) };
}

/** By the executable, without the program. */
function isAnsweredAtOnce(args: readonly string[]): boolean {
  return args.length === 1 && args[0] === "--version";
}

function runInOwn(cli: BuiltCli, args: readonly string[], options: RunOptions): Promise<Run> {
  const child = spawn(process.execPath, [cli.script, ...args], {
    cwd: options.cwd,
    env: { ...leastEnvironment(), ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: mostMilliseconds,
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
