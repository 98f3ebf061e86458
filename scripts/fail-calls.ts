/**
 * @file Makes every call on files of every run in test/reliability/scenarios.ts fail, in every way: an error once, an error from
 * then on, less than was asked for. A minute or two for a kind of failure. Runs with threads or processes of their own fail by EIO
 * alone. `--thorough`: every run that leaves files behind is repeated in a process of its own, not the first of its kind alone.
 *
 *   npm run faults -- [--kinds ENOSPC,EIO,…] [--names "--fix,lint -o"] [--thorough] [--out bench/results/faults.md]
 */
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { buildCli } from "../test/cli-process.ts";
import { errorCodes, type FaultKind } from "../test/reliability/kinds.ts";
import { runSweep } from "../test/reliability/run-sweep.ts";

const every: readonly FaultKind[] = [...errorCodes, "short", "nothing"];
const { values: options } = parseArgs({
  options: {
    kinds: { type: "string" },
    names: { type: "string" },
    thorough: { type: "boolean", default: false },
    out: { type: "string" },
  },
});
const asked = options.kinds?.split(",");
const kinds = every.filter((kind) => asked?.includes(kind) ?? true);
const names = options.names?.split(",");
const { thorough: isThorough } = options;
/** Of what is built, whatever is committed meanwhile. */
const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
const rows: string[] = [];
const violations: string[] = [];
using cli = buildCli(process.cwd());

for (const kind of kinds) await sweep(kind, false);
for (const kind of kinds.filter((each) => each === "ENOSPC" || each === "EROFS")) await sweep(kind, true);

const report = `# Failing calls

Every call on files of every run, failed once (or from then on): \`npm run faults\` at ${commit}. A violation is a lost or
torn file, a leftover after the next run, a failure without a name, or an exit code that hides one.

| failure | runs with one failing call | violations |
|---|---:|---:|
${rows.join("\n")}
`;
console.log([report, ...violations].join("\n"));
if (options.out !== undefined) writeFileSync(options.out, report);
process.exitCode = violations.length > 0 ? 1 : 0;

async function sweep(kind: FaultKind, lasts: boolean): Promise<void> {
  const chosen = names === undefined ? {} : { names };
  const request = {
    script: cli.script,
    kinds: [kind],
    lasts,
    isThorough,
    isQuick: kind !== "EIO",
    ...chosen,
  };
  const answer = await runSweep(request, process.cwd());
  violations.push(...answer.violations);
  const what = lasts ? `${kind}, from then on` : kind;
  rows.push(`| ${what} | ${answer.runs} | ${answer.violations.length} |`);
  console.error(`${what}: ${answer.runs} runs, ${answer.violations.length} violations`);
}
