/**
 * @file What `--fix --prove` kept and reverted, as a table: bench/results/prove.md, of the reports of bench/gpu/prove.sh.
 *
 *     node scripts/run.mjs bench/prove.ts --from FOLDER
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import type { FixEntry, FixReport } from "../src/api/fix-report.ts";
import type { Difference, MeasuredChange } from "../src/fix/measured.ts";
import { geometricMean } from "./gpu/beside-torch.ts";

const { values: options } = parseArgs({ options: { from: { type: "string" } } });
const { from } = options;
if (from === undefined) throw new Error("--from FOLDER is needed");

/** Beyond noise and more than that, a model is slower. */
const slowerShare = 0.02;

const titles = {
  safe: "`tc-lint --fix --prove`: FP16, padding and folding",
  unsafe:
    "`tc-lint --diff --prove --unsafe-fixes`: from the types that are stored to FP16 and NHWC where they gain",
} as const;

const sections = Object.entries(titles).flatMap(([name, title]) => {
  const file = path.join(from, `${name}.jsonl`);
  return existsSync(file) ? sectionOf(title, entriesOf(file)) : [];
});
const head = [
  "# Repairs measured change by change",
  "",
  "`bash bench/gpu/prove.sh ZOO OUT` on one GPU, then `node scripts/run.mjs bench/prove.ts --from OUT`. Microseconds of one run in the",
  "bundled runtime at the sizes that price the model; whole runs of the original and the result in turns, from a cold L2; of a change, the",
  "launches that differ with and without it, their operands in the L2.",
];
writeFileSync("bench/results/prove.md", `${[...head, ...sections].join("\n")}\n`);

function entriesOf(file: string): FixEntry[] {
  const lines = readFileSync(file, "utf8").split("\n");
  return lines.filter((line) => line !== "").flatMap((line) => reportOf(line).fixes);
}

function reportOf(line: string): FixReport {
  return JSON.parse(line);
}

function sectionOf(title: string, entries: readonly FixEntry[]): string[] {
  const measured = entries.filter(({ measurement }) => measurement !== null);
  const changes = measured.flatMap(({ measurement }) => measurement?.changes ?? []);
  const count = (verdict: string) => changes.filter((change) => change.verdict === verdict).length;
  const gained = measured.flatMap(({ measurement }) =>
    measurement?.changes.some(({ verdict }) => verdict !== "reverted") ? [measurement.microseconds] : [],
  );
  const slower = gained.filter((times) => isSlower(times));
  const gpus = [...new Set(measured.map(({ measurement }) => `${measurement?.gpu}, ${measurement?.driver}`))];
  const failed = entries.filter(({ error }) => error !== null);
  const mean = geometricMean(gained.map(({ before, after }) => before / after));
  return [
    "",
    `## ${title}`,
    "",
    `${gpus.join("; ")}. ${entries.length} models, ${failed.length} refused, ${measured.length} with something to measure: ${count("kept")} changes kept, ${count("reverted")} reverted;`,
    `${gained.length} models changed, ${slower.length} of them slower by more than ${100 * slowerShare} %, ${mean.toFixed(3)} × as fast (geometric mean).`,
    "",
    "| model | before | after | ± | gain | kept | reverted |",
    "|---|---:|---:|---:|---:|---|---|",
    ...measured.map(rowOf),
    ...failed.map(({ path: own, error }) => `| ${nameOf(own)} | ${error?.code} | | | | | |`),
  ];
}

function isSlower({ before, after, noise }: Difference): boolean {
  return after - before > noise && after > (1 + slowerShare) * before;
}

function rowOf({ path: own, measurement }: FixEntry): string {
  if (measurement === null) return "";
  const { before, after, noise } = measurement.microseconds;
  const gain = Math.abs(before - after) <= noise ? "–" : `${(100 * (1 - after / before)).toFixed(1)} %`;
  const listed = (isKept: boolean) =>
    measurement.changes
      .filter(({ verdict }) => (verdict !== "reverted") === isKept)
      .map(changeText)
      .join("; ");
  const cells = [nameOf(own), before.toFixed(1), after.toFixed(1), noise.toFixed(1), gain];
  return `| ${[...cells, listed(true), listed(false)].join(" | ")} |`;
}

function changeText({ pass, places, microseconds: { before, after } }: MeasuredChange): string {
  const where = places > 1 ? ` (${places}×)` : "";
  return `${pass}${where} ${before.toFixed(2)} → ${after.toFixed(2)}`;
}

function nameOf(own: string): string {
  return path.basename(own, ".onnx");
}
