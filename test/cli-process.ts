/** @file The command line as a user runs it: built, in a process of its own, with what that process used. */
import { spawn, spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { buildResident } from "./resident.ts";

const ownRoot = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const ownProbe = pathToFileURL(path.join(ownRoot, "bench", "probe.mjs")).href;

/** Names the folder of a test run's one build. */
export const sharedFolderVariable = "TC_LINT_TEST_BUILD";
/** Where processes that have a home or a cache of their own find the code that others kept (docs/adr/0040): that of the one build, and no other's. */
export const keptCodeVariable = "NODE_COMPILE_CACHE";
const sharedBuildSeconds = 120;

/** What each process of a test is given. */
export function leastEnvironment(): Record<string, string> {
  const { PATH = "", [keptCodeVariable]: keptCode } = process.env;
  return { PATH, ...(keptCode !== undefined && { [keptCodeVariable]: keptCode }) };
}

export interface BuiltCli extends Disposable {
  /** The executable script. */
  readonly script: string;
  /** The folder of the test run's one build, where it is that. */
  readonly shared?: string;
}

/**
 * The command line, built beside the checkout's packages, since the bundle imports them. A test run builds it once for all of its
 * files (test/one-build.ts). `root` is the checkout: a script that is itself bundled (scripts/run.mjs) says where it runs.
 */
export function buildCli(root = ownRoot): BuiltCli {
  const shared = process.env[sharedFolderVariable];
  if (shared !== undefined)
    return { script: sharedBuild(root, shared), shared, [Symbol.dispose]: () => undefined };
  const out = path.join(root, "out");
  mkdirSync(out, { recursive: true });
  const folder = mkdtempSync(path.join(out, "cli-"));
  return {
    script: build(root, folder),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** A build of a test file's own, for what puts files into it or takes some out. */
export function copyCli(): BuiltCli {
  using cli = buildCli();
  const folder = mkdtempSync(path.join(ownRoot, "out", "cli-"));
  cpSync(path.dirname(path.dirname(cli.script)), folder, { recursive: true });
  return {
    script: path.join(folder, "bin", "tc-lint.js"),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  };
}

function build(root: string, folder: string): string {
  const script = path.join(root, "scripts", "build.mjs");
  const { status, stderr } = spawnSync(process.execPath, [script, "--no-types", `--outdir=${folder}`], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`the command line does not build:\n${stderr}`);
  return path.join(folder, "bin", "tc-lint.js");
}

/** The first to come builds, the others wait for it. */
function sharedBuild(root: string, shared: string): string {
  const folder = path.join(shared, "dist");
  const done = path.join(shared, "built");
  if (isFirst(path.join(shared, "claimed"))) {
    const built = build(root, folder);
    buildResident(root, shared);
    // All others begin with the code that it keeps (docs/adr/0040).
    spawnSync(process.execPath, [built, path.join(root, "fixtures", "models", "aligned-mlp.onnx")]);
    writeFileSync(path.join(shared, "files"), filesBelow(folder));
    writeFileSync(done, built);
    return built;
  }
  const last = Date.now() + sharedBuildSeconds * 1000;
  while (!existsSync(done)) {
    if (Date.now() > last) throw new Error("the command line was not built by the test file that began to");
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  }
  return readFileSync(done, "utf8");
}

/** Throws where a test put files into the build that others share, or took some out. */
export function checkShared(shared: string): void {
  const list = path.join(shared, "files");
  if (!existsSync(list)) return;
  const [before, after] = [readFileSync(list, "utf8"), filesBelow(path.join(shared, "dist"))];
  if (before === after) return;
  const known = new Set(before.split("\n"));
  const added = after.split("\n").filter((file) => !known.has(file));
  throw new Error(
    `a test changed the build that all share; it needs copyCli(): ${added.join(", ") || "files are gone"}`,
  );
}

function filesBelow(folder: string): string {
  return readdirSync(folder, { recursive: true }).map(String).sort().join("\n");
}

function isFirst(claim: string): boolean {
  try {
    mkdirSync(claim);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  }
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

/** What a run says besides how far it is: on a busy machine any run takes long enough to say that (test/cli/progress.test.ts). */
export function withoutProgress(stderr: string): string {
  return stderr.replace(/^tc-lint: after \d+ s: .*\n/gm, "");
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
      resolve({ exitCode, stdout, stderr: withoutProgress(stderr), ...usage });
    });
  });
}
