/** @file One fix that is killed, what it leaves, and the run after it. */
import { spawn } from "node:child_process";
import { copyFileSync, type FSWatcher, mkdirSync, readdirSync, readlinkSync, watch } from "node:fs";
import { constants } from "node:os";
import path from "node:path";
import type { BuiltCli } from "../cli-process.ts";
import { convolutions, writeExternal, writeInline } from "../fix/models.ts";
import { type Tree, treeOf } from "./tree.ts";

export const signals = ["SIGKILL", "SIGTERM", "SIGHUP", "SIGINT"] as const;

export interface KillCase {
  readonly name: string;
  readonly isExternal: boolean;
  /** Where the result goes, below the working folder; undefined for in place. */
  readonly output?: string;
  /** Whether there is a model at the output already. */
  readonly replaces?: boolean;
  readonly isVerified: boolean;
}

export const killCases: readonly KillCase[] = [
  { name: "in place", isExternal: false, isVerified: false },
  { name: "in place, external data", isExternal: true, isVerified: false },
  { name: "to an output", isExternal: false, output: "out/fixed.onnx", isVerified: false },
  { name: "to an output, external data", isExternal: true, output: "out/fixed.onnx", isVerified: false },
  { name: "over an output", isExternal: true, output: "out/fixed.onnx", replaces: true, isVerified: false },
  { name: "in place, verified", isExternal: true, isVerified: true },
  { name: "to an output, verified", isExternal: false, output: "out/fixed.onnx", isVerified: true },
];

export interface Expected {
  readonly initial: Tree;
  readonly final: Tree;
  /** Of the whole run, and from the first file that it makes on. */
  readonly milliseconds: number;
  readonly writingMilliseconds: number;
}

export interface Moment {
  readonly signal: (typeof signals)[number];
  /** Of the duration: [0, 1). */
  readonly share: number;
  /** Whether the duration counts from the first file that is made. */
  readonly isWriting: boolean;
}

/** What the killed run left: nothing yet, parts, or the whole result; `done`: it ended by itself before. */
export const endings = ["untouched", "parts", "replaced", "done"] as const;

export interface Killed {
  readonly name: string;
  readonly signal: Moment["signal"];
  readonly ending: (typeof endings)[number];
  readonly violations: readonly string[];
}

/** The run without a kill: what it starts from and ends with, and how long it takes. */
export async function prepare(cli: BuiltCli, each: KillCase, folder: string): Promise<Expected> {
  const work = setUp(each, folder);
  const initial = treeOf(work);
  const ran = await start(cli, each, work).ended;
  if (ran.exitCode !== 0) throw new Error(`${each.name}: ${ran.exitCode}: ${ran.stderr}`);
  const { milliseconds, writingMilliseconds } = ran;
  return { initial, final: treeOf(work), milliseconds, writingMilliseconds };
}

function setUp({ isExternal, output, replaces }: KillCase, folder: string): string {
  const work = path.join(folder, "work");
  mkdirSync(path.join(work, "out"), { recursive: true });
  if (isExternal) writeExternal(work, convolutions());
  else writeInline(work);
  if (replaces && output !== undefined) copyFileSync(path.join(work, "model.onnx"), path.join(work, output));
  return work;
}

interface Ended {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stderr: string;
  readonly milliseconds: number;
  readonly writingMilliseconds: number;
}

/** Starts a fix. `kill`: the moment, as the run without one took. */
function start(cli: BuiltCli, { output, isVerified }: KillCase, work: string, kill?: Moment & Expected) {
  const where = output === undefined ? ["--fix"] : ["--fix-output", output];
  const quick = isVerified ? [] : ["--no-verify"];
  const args = [...where, "model.onnx", ...quick, "--fix-only", "--no-color", "--min-saving", "0"];
  const began = performance.now();
  const child = spawn(process.execPath, [cli.script, ...args], {
    cwd: work,
    stdio: ["ignore", "ignore", "pipe"],
    env: { PATH: process.env["PATH"], TMPDIR: path.join(work, "..", "tmp") },
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  let writing: number | undefined;
  let timer: NodeJS.Timeout | undefined;
  const killIn = (milliseconds: number) => {
    timer ??= setTimeout(() => kill && child.kill(kill.signal), milliseconds);
  };
  const watcher: FSWatcher = watch(path.join(work, path.dirname(output ?? ".")), () => {
    writing ??= performance.now();
    if (kill?.isWriting) killIn(kill.share * kill.writingMilliseconds);
  });
  if (kill !== undefined && !kill.isWriting) killIn(kill.share * kill.milliseconds);
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (exitCode, signal) => {
      clearTimeout(timer);
      watcher.close();
      const now = performance.now();
      const writingMilliseconds = now - (writing ?? now);
      resolve({ exitCode, signal, stderr, milliseconds: now - began, writingMilliseconds });
    });
  });
  return { ended };
}

export async function killOnce(
  cli: BuiltCli,
  each: KillCase,
  expected: Expected,
  moment: Moment,
  folder: string,
): Promise<Killed> {
  const work = setUp(each, folder);
  const killed = await start(cli, each, work, { ...moment, ...expected }).ended;
  const left = treeOf(work);
  const violations = [...lost(each, expected, left), ...wrongEnd(killed, moment)];
  if (!(await areGone(work))) violations.push("left: a process still runs after five seconds");
  const next = await start(cli, each, work).ended;
  if (next.exitCode !== 0) violations.push(`wrong: the next run ends with ${next.exitCode}: ${next.stderr}`);
  const now = treeOf(work);
  for (const name of now.keys()) if (!expected.final.has(name)) violations.push(`left: ${name}`);
  for (const [name, content] of expected.final)
    if (now.get(name) !== content) violations.push(`lost: ${name} after the next run`);
  for (const name of readdirSync(path.join(folder, "tmp"))) violations.push(`left: tmp/${name}`);
  return {
    name: each.name,
    signal: moment.signal,
    ending: endingOf(each, expected, left, killed),
    violations,
  };
}

function* lost({ output }: KillCase, { initial, final }: Expected, left: Tree): Generator<string> {
  const result = output ?? "model.onnx";
  for (const [name, content] of initial) {
    const now = left.get(name);
    if (now !== content && !(name === result && now === final.get(name))) yield `lost: ${name}`;
  }
  const now = left.get(result);
  if (now !== undefined && now !== initial.get(result) && now !== final.get(result))
    yield `lost: ${result} is torn`;
  if (now === undefined || now !== final.get(result)) return;
  for (const [name, content] of final)
    if (left.get(name) !== content) yield `lost: ${name} of a result in place`;
}

function* wrongEnd({ exitCode, signal, stderr }: Ended, moment: Moment): Generator<string> {
  const asked = 128 + constants.signals[moment.signal];
  const isExpected = exitCode === 0 || exitCode === asked || signal === moment.signal;
  if (!isExpected) yield `wrong: it ends with ${exitCode ?? signal}: ${stderr.slice(0, 300)}`;
  if (/bug in tc-lint|^ +at /m.test(stderr)) yield `wrong: ${stderr.slice(0, 300)}`;
}

function endingOf(
  { output }: KillCase,
  { initial, final }: Expected,
  left: Tree,
  ended: Ended,
): Killed["ending"] {
  const result = output ?? "model.onnx";
  if (ended.exitCode === 0) return "done";
  if (left.get(result) === final.get(result)) return "replaced";
  return [...left.keys()].every((name) => initial.has(name)) ? "untouched" : "parts";
}

const patienceMilliseconds = 5000;

/** Whether every process that works in the folder ends soon: children of the killed one, above all. */
async function areGone(folder: string): Promise<boolean> {
  const end = performance.now() + patienceMilliseconds;
  while (isAnyIn(folder)) {
    if (performance.now() > end) return false;
    await new Promise((wake) => setTimeout(wake, 20));
  }
  return true;
}

function isAnyIn(folder: string): boolean {
  return readdirSync("/proc").some((name) => /^\d+$/.test(name) && folderOf(name) === folder);
}

/** Undefined of a process that ended meanwhile, or is another user's. */
function folderOf(pid: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch (error) {
    if (error instanceof Error && "syscall" in error) return undefined;
    throw error;
  }
}
