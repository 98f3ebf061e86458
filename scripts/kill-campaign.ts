/**
 * @file Kills fixes at random moments, and looks at what is left: a model is the old one or the whole new one, an output is
 * there whole or not at all, and the next run clears up.
 *
 *   npm run kills -- [--runs 1000] [--seed 1] [--workers 2] [--out bench/results/kills.md]
 *
 * Half of the moments are drawn over the whole run, the other half from the first file that is made on. Models are tiny: what
 * is looked for are moments between calls, not pieces of a file (test/onnx/write.test.ts has those).
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { Random } from "../src/verify/random.ts";
import { type BuiltCli, buildCli } from "../test/cli-process.ts";
import {
  type Expected,
  endings,
  type KillCase,
  type Killed,
  killCases,
  killOnce,
  type Moment,
  prepare,
  signals,
} from "../test/reliability/kill-run.ts";

const { values: options } = parseArgs({
  options: {
    runs: { type: "string", default: "1000" },
    seed: { type: "string", default: "1" },
    workers: { type: "string", default: "2" },
    out: { type: "string" },
  },
});
const total = Number(options.runs);
const random = new Random(options.seed);
const top = realpathSync(mkdtempSync(path.join(tmpdir(), "tc-lint-kills-")));
using cli = buildCli(process.cwd());
/** Of what is built, whatever is committed meanwhile. */
const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
const began = performance.now();
let begun = 0;
const results: Killed[] = [];

try {
  const expected = new Map<KillCase, Expected>();
  for (const each of killCases) expected.set(each, await prepare(cli, each, folderOf("whole")));
  await Promise.all(Array.from({ length: Number(options.workers) }, (_, lane) => work(cli, expected, lane)));
  report();
} finally {
  rmSync(top, { recursive: true, force: true });
}

async function work(built: BuiltCli, expected: ReadonlyMap<KillCase, Expected>, lane: number): Promise<void> {
  while (begun < total) {
    const turn = begun++;
    const each = draw(killCases.filter(({ isVerified }) => isVerified === (turn % 20 === 0)));
    const whole = expected.get(each);
    if (whole === undefined) throw new Error(`${each.name}: was not prepared`);
    const moment: Moment = {
      signal: random.uniform() < 0.4 ? "SIGKILL" : draw(signals),
      share: random.uniform(),
      isWriting: random.uniform() < 0.5,
    };
    const killed = await killOnce(built, each, whole, moment, folderOf(`lane${lane}`));
    results.push(killed);
    for (const wrong of killed.violations) console.log(`${each.name}, ${moment.signal}: ${wrong}`);
    if (results.length % 100 === 0) console.error(`${results.length} of ${total}`);
  }
}

function draw<T>(items: readonly T[]): T {
  const item = items[Math.floor(random.uniform() * items.length)];
  if (item === undefined) throw new Error("there is nothing to draw from");
  return item;
}

function folderOf(name: string): string {
  const folder = path.join(top, name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(path.join(folder, "tmp"), { recursive: true });
  return folder;
}

function report(): void {
  const wrong = results.flatMap(({ violations }) => violations);
  const rows = killCases.map(({ name }) =>
    row(
      name,
      results.filter((each) => each.name === name),
    ),
  );
  const minutes = ((performance.now() - began) / 60_000).toFixed(1);
  const text = `# Killed fixes

${total} fixes, each killed at a random moment by SIGKILL, SIGTERM, SIGHUP or SIGINT and run again to its end:
\`npm run kills -- --runs ${total} --seed ${options.seed}\` at ${commit}, ${minutes} minutes. Lost: a model or its data that is
neither what it was nor the whole result. Left: a file, or a process, that is there after the next run.

| run | ${endings.join(" | ")} | lost | left or wrong |
|---|${"---:|".repeat(endings.length + 2)}
${[...rows, row("all", results)].join("\n")}

By signal: ${signals.map((signal) => `${signal} ${results.filter((each) => each.signal === signal).length}`).join(", ")}.
`;
  console.log(text);
  if (options.out !== undefined) writeFileSync(options.out, text);
  process.exitCode = wrong.length > 0 ? 1 : 0;
}

function row(name: string, of: readonly Killed[]): string {
  const counts = endings.map((ending) => of.filter((each) => each.ending === ending).length);
  const lost = of.flatMap(({ violations }) => violations).filter((text) => text.startsWith("lost"));
  const other = of.flatMap(({ violations }) => violations).length - lost.length;
  return `| ${[name, ...counts, lost.length, other].join(" | ")} |`;
}
