/** @file The command line as a user runs it: built, in a process of its own, with what that process used. */
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const ownRoot = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const ownProbe = pathToFileURL(path.join(ownRoot, "bench", "probe.mjs")).href;

export interface BuiltCli extends Disposable {
  /** The executable script. */
  readonly script: string;
}

/**
 * Builds the command line beside the checkout's packages, since the bundle imports them. `root` is the checkout: a script that is
 * itself bundled (scripts/run.mjs) says where it runs.
 */
export function buildCli(root = ownRoot): BuiltCli {
  const out = path.join(root, "out");
  mkdirSync(out, { recursive: true });
  const folder = mkdtempSync(path.join(out, "cli-"));
  const built = spawnSync(
    process.execPath,
    [path.join(root, "scripts", "build.mjs"), "--no-types", `--outdir=${folder}`],
    {
      encoding: "utf8",
    },
  );
  if (built.status !== 0) throw new Error(`the command line does not build:\n${built.stderr}`);
  return {
    script: path.join(folder, "bin", "tc-lint.js"),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

export interface CliRun {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly cpuSeconds: number;
  /** Peak resident memory. */
  readonly peakBytes: number;
  readonly bytesRead: number | undefined;
}

export interface CliOptions {
  readonly cwd?: string;
  /** Beside this process's own. */
  readonly env?: Readonly<Record<string, string>>;
  /** The process is ended after this long, and its exit code is null. */
  readonly timeoutSeconds?: number;
  /** The URL of bench/probe.mjs, for scripts that are bundled. */
  readonly probe?: string;
}

export function runCli(cli: BuiltCli, args: readonly string[], options: CliOptions = {}): Promise<CliRun> {
  const child = spawn(process.execPath, ["--import", options.probe ?? ownProbe, cli.script, ...args], {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ["ignore", "pipe", "pipe", "pipe"],
    timeout: (options.timeoutSeconds ?? 60) * 1000,
    killSignal: "SIGKILL",
  });
  const texts = ["", "", "", ""];
  for (const descriptor of [1, 2, 3] as const) {
    child.stdio[descriptor]?.on("data", (chunk) => {
      texts[descriptor] += String(chunk);
    });
  }
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (exitCode) => {
      const [, stdout = "", stderr = "", used = ""] = texts;
      const usage = used === "" ? { cpuSeconds: Number.NaN, peakBytes: Number.NaN } : JSON.parse(used);
      resolve({ exitCode, stdout, stderr, ...usage });
    });
  });
}
