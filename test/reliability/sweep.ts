/**
 * @file Makes every call on files of a run fail, one run a call, and looks at what is left.
 *
 *   node sweep.mjs '{"script": "…/bin/tc-lint.js", "injector": "…/injector.mjs", "names": […], "kinds": […], "lasts": false, "isThorough": false, "isQuick": true}'
 *
 * Answers with JSON: how many runs, and what was wrong with which. The command line runs in this process, over and over;
 * where a run leaves files behind, it is repeated in a process of its own, and followed by one that must clear them away.
 */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { FaultKind } from "./kinds.ts";
import { type Scenario, scenarios } from "./scenarios.ts";
import { type Outcome, runHere, runInProcess } from "./sweep-run.ts";
import { type Tree, treeOf } from "./tree.ts";

export interface SweepRequest {
  readonly script: string;
  readonly injector: string;
  /** Of the scenarios to run; all without. */
  readonly names?: readonly string[];
  readonly kinds: readonly FaultKind[];
  /** Whether the fault lasts, once it is there. */
  readonly lasts: boolean;
  /** Whether every run that leaves something is repeated, not only the first that leaves such files. */
  readonly isThorough: boolean;
  /** Whether to leave out what works in threads and processes of its own: each of those runs takes a second. */
  readonly isQuick: boolean;
}

export interface SweepAnswer {
  readonly runs: number;
  readonly processes: number;
  /** Runs by scenario. */
  readonly byScenario: Readonly<Record<string, number>>;
  readonly violations: readonly string[];
}

const request: SweepRequest = JSON.parse(process.argv[2] ?? "{}");
const answer = {
  runs: 0,
  processes: 0,
  byScenario: {} as Record<string, number>,
  violations: [] as string[],
};
const top = realpathSync(mkdtempSync(path.join(tmpdir(), "tc-lint-sweep-")));
const root = path.join(top, "root");
const work = path.join(root, "work");
const marker = path.join(top, "marker");
process.setMaxListeners(0);

try {
  for (const scenario of scenarios()) {
    if (request.names !== undefined && !request.names.includes(scenario.name)) continue;
    if (request.isQuick && scenario.needsProcess === true) continue;
    await sweep(scenario);
  }
} finally {
  process.chdir("/");
  rmSync(top, { recursive: true });
}
process.stdout.write(JSON.stringify(answer), () => process.exit(0));

async function sweep(scenario: Scenario): Promise<void> {
  const before = answer.runs;
  fresh(scenario);
  const whole = await run(scenario);
  const expected = { whole, initial: initialTree(scenario), final: treeOf(work) };
  if (whole.exitCode !== 0 && whole.exitCode !== 1) throw new Error(`${scenario.name}: ${describe(whole)}`);
  const seen = new Set<string>();
  for (const kind of request.kinds) {
    for (let turn = 1; ; turn++) {
      fresh(scenario);
      const outcome = await run(scenario, { kind, turn });
      if (outcome.fired === undefined) break;
      answer.runs += 1;
      const about = `${scenario.name}: ${kind}${request.lasts ? " from" : " at"} call ${turn}, ${outcome.fired}`;
      for (const wrong of wrongs(scenario, expected, outcome, treeOf(work))) complain(about, wrong, outcome);
      const left = leftovers(treeOf(work), expected);
      const isKnown = !request.isThorough && seen.has(left);
      seen.add(left);
      if (left !== "" && !isKnown) await clearUp(scenario, { kind, turn }, expected, about);
    }
  }
  answer.byScenario[scenario.name] = answer.runs - before;
}

/** The names of files that neither state has, without what is drawn. */
function leftovers(tree: Tree, { initial, final }: Expected): string {
  const names = [...tree.keys()].filter((name) => !initial.has(name) && !final.has(name));
  return names.map((name) => name.replace(/\d+-[0-9a-f]{16}/, "N")).join(" ");
}

interface Expected {
  readonly whole: Outcome;
  readonly initial: Tree;
  readonly final: Tree;
}

function run(
  scenario: Scenario,
  fault?: { kind: FaultKind; turn: number },
  inProcess = scenario.needsProcess,
): Promise<Outcome> {
  const given = fault && { ...fault, lasts: request.lasts, folder: root, marker };
  rmSync(marker, { force: true });
  if (inProcess !== true)
    return runHere(request.script, scenario, work, given && { ...given, marker: undefined });
  answer.processes += 1;
  const outcome = runInProcess(request, scenario, work, given);
  // A line a process: one that it starts counts its own calls.
  const fired = existsSync(marker)
    ? readFileSync(marker, "utf8").trimEnd().replaceAll("\n", ", ")
    : undefined;
  return Promise.resolve({ ...outcome, fired });
}

/** A process that dies with its leftovers, then one whose job it is to remove them. */
async function clearUp(
  scenario: Scenario,
  fault: { kind: FaultKind; turn: number },
  expected: Expected,
  about: string,
) {
  fresh(scenario);
  await run(scenario, fault, true);
  const left = treeOf(work);
  if (sameTree(left, expected.final)) return;
  const outcome = await run(scenario, undefined, true);
  const now = treeOf(work);
  if (outcome.exitCode === 2) complain(about, "the next run fails", outcome);
  const different = difference(now, expected.final, scenario.reports);
  if (different !== undefined) complain(about, `the next run leaves ${different}`, outcome);
}

function* wrongs(
  scenario: Scenario,
  { whole, initial, final }: Expected,
  outcome: Outcome,
  tree: Tree,
): Generator<string> {
  const reports = scenario.reports ?? [];
  const said = [outcome.stdout, outcome.stderr, ...reports.map((name) => tree.get(name))].join("\n");
  if (outcome.unhandled !== undefined) yield `nobody handles ${outcome.unhandled}`;
  if (outcome.exitCode !== 2 && outcome.exitCode !== whole.exitCode) yield `exit code ${outcome.exitCode}`;
  if (/bug in tc-lint|^ +at /m.test(said)) yield "it is called a bug";
  if (outcome.exitCode === 2) {
    if (!/\((ENOSPC|EIO|EACCES|EROFS|EMFILE)\)|ends at byte|takes no more|does not hold|changed/.test(said))
      yield "what failed is not named";
    if (!namesFile(scenario, final, said, outcome.fired ?? "")) yield "no file is named";
  } else {
    if (timeless(outcome.stdout) !== timeless(whole.stdout) && outcome.stderr === whole.stderr)
      yield "the result differs, unsaid";
    for (const name of [...scenario.results, ...reports])
      if (tree.get(name) !== final.get(name)) yield `${name} is not the result`;
  }
  for (const [name, content] of initial) {
    const now = tree.get(name);
    if (reports.includes(name)) continue;
    const isResult = scenario.results.includes(name);
    if (now !== content && !(isResult && now === final.get(name))) yield `${name} is lost`;
    if (now !== content && /original is unchanged/.test(said)) yield `${name} is not unchanged, as it says`;
  }
  for (const name of scenario.results) {
    if (tree.has(name) && tree.get(name) !== final.get(name) && tree.get(name) !== initial.get(name))
      yield `${name} is half written`;
  }
  for (const name of reports) {
    if (tree.has(name) && tree.get(name) !== initial.get(name) && !isJson(tree.get(name)))
      yield `${name} is half written`;
  }
}

/** Seconds that were measured differ from run to run. */
function timeless(text: string): string {
  return text.replace(/[\d.]+ s$/gm, "");
}

/** The file of the call, or one that the user knows. */
function namesFile({ files }: Scenario, final: Tree, said: string, fired: string): boolean {
  const called = fired.split(", ").map((call) => path.basename(call));
  const known = ["stdout", ...called, ...files.keys(), ...final.keys()];
  return known.some((name) => said.includes(name));
}

function isJson(text = ""): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    if (error instanceof SyntaxError) return false;
    throw error;
  }
}

function complain(about: string, wrong: string, outcome: Outcome): void {
  answer.violations.push(`${about}: ${wrong} (${describe(outcome)})`);
}

function describe({ exitCode, stdout, stderr }: Outcome): string {
  return JSON.stringify([exitCode, stderr.slice(0, 400), stdout.slice(0, 200)]);
}

function fresh({ files }: Scenario): void {
  process.chdir("/");
  rmSync(root, { recursive: true, force: true });
  mkdirSync(path.join(root, "tmp"), { recursive: true });
  mkdirSync(work);
  for (const [name, content] of files) {
    mkdirSync(path.dirname(path.join(work, name)), { recursive: true });
    writeFileSync(path.join(work, name), content);
  }
}

function initialTree(scenario: Scenario): Tree {
  return new Map([...scenario.files].map(([name, bytes]) => [name, Buffer.from(bytes).toString("latin1")]));
}

function sameTree(a: Tree, b: Tree): boolean {
  return a.size === b.size && [...a].every(([name, content]) => b.get(name) === content);
}

/** Reports tell of another run, and may. */
function difference(now: Tree, expected: Tree, reports: readonly string[] = []): string | undefined {
  const more = [...now.keys()].filter((name) => !expected.has(name));
  const fewer = [...expected.keys()].filter((name) => !now.has(name));
  const other = [...now.keys()].filter(
    (name) => expected.has(name) && expected.get(name) !== now.get(name) && !reports.includes(name),
  );
  if (more.length + fewer.length + other.length === 0) return undefined;
  return JSON.stringify({ more, fewer, other });
}
