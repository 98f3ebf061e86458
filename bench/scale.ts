/**
 * @file How time and memory of `--fix`, `--diff` and lint grow with a model.
 *
 *   node scripts/build.mjs --no-types && node scripts/run.mjs bench/scale.ts [--family adds,mlp] [--task fix,lint] [--most 100000] [--out bench/results/scale.json]
 *
 * Every run is a process of its own, that ends at --seconds. Growth is the exponent of n from the next smaller member of
 * the family, by user time. With --out the rows go to FILE.json, and a table to FILE.md; rows that were not run stay.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { type FamilyName, families, writeFamily } from "./scale-models.ts";
import { blockNodes, writeSyntheticModel } from "./synthetic.ts";

const { values: options } = parseArgs({
  options: {
    family: { type: "string" },
    task: { type: "string" },
    most: { type: "string", default: "1000000" },
    seconds: { type: "string", default: "300" },
    out: { type: "string" },
    cli: { type: "string", default: "dist/bin/tc-lint.js" },
  },
});
const most = Number(options.most);
const cli = path.resolve(options.cli);

const tasks = {
  fix: (model: string) => ["--fix-only", "--no-verify", "--fix-output", `${model}.fixed`, model],
  diff: (model: string) => ["--diff", model],
  lint: (model: string) => ["--exit-zero", model],
} as const;
type Task = keyof typeof tasks;

/** Sizes by family; `residual-lint` is the graph that startup.ts lints. */
const sizes: Record<FamilyName | "residual-lint", { readonly [task in Task]?: readonly number[] }> = {
  adds: both(12_500, 25_000, 50_000, 100_000),
  mlp: both(12_500, 25_000, 50_000, 100_000),
  residual: both(12_500, 25_000, 50_000, 100_000),
  dense: both(50, 100, 200, 400),
  split: both(1_000, 2_000, 4_000, 8_000),
  "split-residual": both(1_000, 2_000, 4_000, 8_000),
  sum: both(25_000, 50_000, 100_000),
  huge: both(1e9, 2 ** 33, 2 ** 40),
  calls: both(12_500, 25_000, 50_000, 100_000),
  "residual-lint": { lint: [125_000, 250_000, 500_000, 1_000_000] },
};

function both(...each: number[]) {
  return { fix: each, diff: each, lint: each };
}

interface Row {
  readonly family: string;
  readonly task: Task;
  readonly n: number;
  readonly seconds: number;
  readonly userSeconds: number;
  readonly peakMegabytes: number;
  /** Of user time, from the size before. */
  readonly exponent: number | null;
  readonly exit: number | string;
}

const rows: Row[] = [];
const folder = mkdtempSync(path.join(tmpdir(), "tc-lint-scale-"));
try {
  for (const [family, byTask] of Object.entries(sizes)) {
    if (options.family !== undefined && !options.family.split(",").includes(family)) continue;
    for (const task of Object.keys(tasks) as Task[]) {
      if (options.task !== undefined && !options.task.split(",").includes(task)) continue;
      measureAll(family as keyof typeof sizes, task, byTask[task] ?? []);
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (options.out !== undefined) save(options.out);

function measureAll(family: keyof typeof sizes, task: Task, all: readonly number[]): void {
  let before: Row | undefined;
  for (const n of all) {
    if (n > most && family !== "huge") continue;
    const model = path.join(folder, "model.onnx");
    if (family === "residual-lint") writeSyntheticModel(model, n / blockNodes);
    else writeFamily(model, family, n);
    before = measure(family, task, n, model, before);
    rows.push(before);
    console.log(lineOf(before));
    if (typeof before.exit === "string") break;
  }
}

function measure(family: string, task: Task, n: number, model: string, before: Row | undefined): Row {
  const start = performance.now();
  const { status, signal, stderr } = spawnSync(
    "/usr/bin/env",
    ["time", "-f", "used %U %M", process.execPath, cli, ...tasks[task](model)],
    { stdio: ["ignore", "ignore", "pipe"], encoding: "utf8", timeout: 1000 * Number(options.seconds) },
  );
  const seconds = (performance.now() - start) / 1000;
  const [, user, kilobytes] = /used ([\d.]+) (\d+)/.exec(stderr) ?? [];
  const userSeconds = Number(user ?? Number.NaN);
  const exponent =
    before === undefined ? null : Math.log(userSeconds / before.userSeconds) / Math.log(n / before.n);
  const failed = status !== 0 && !(status === 1 && task === "diff");
  if (failed) console.log(stderr.slice(0, 500));
  return {
    family,
    task,
    n,
    seconds: round(seconds),
    userSeconds: round(userSeconds),
    peakMegabytes: Math.round(Number(kilobytes ?? Number.NaN) / 1e3),
    exponent: exponent === null ? null : round(exponent),
    exit: status ?? `ended (${signal})`,
  };
}

function lineOf(row: Row): string {
  const { family, task, n, seconds, userSeconds, peakMegabytes, exponent, exit } = row;
  const growth = exponent === null ? "" : exponent.toFixed(2);
  return `| ${[family, task, n.toLocaleString("en-US"), seconds, userSeconds, peakMegabytes, growth, exit].join(" | ")} |`;
}

function save(out: string): void {
  const isNew = (row: Row) => !rows.some(({ family, task }) => family === row.family && task === row.task);
  const kept: Row[] = existsSync(out) ? JSON.parse(readFileSync(out, "utf8")).rows.filter(isNew) : [];
  const order = Object.keys(sizes);
  const all = [...kept, ...rows].sort((a, b) => order.indexOf(a.family) - order.indexOf(b.family));
  const command = `node scripts/build.mjs --no-types && node scripts/run.mjs bench/scale.ts --out ${out}`;
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version };
  writeFileSync(out, `${JSON.stringify({ command, machine, rows: all }, undefined, 1)}\n`);
  const units = Object.entries(families).map(([name, { unit }]) => `${name}: ${unit}`);
  const table = [
    `Made by \`${command}\` on ${machine.cores} × ${machine.cpu}, Node ${machine.node}, others at work beside it.`,
    `n counts ${units.join(", ")}; in residual-lint nodes. Growth is the exponent of n, by user time, from the row before.`,
    "",
    "| family | task | n | s | user s | peak MB | growth | exit |",
    "|---|---|---:|---:|---:|---:|---:|---:|",
    ...all.map(lineOf),
  ];
  writeFileSync(out.replace(/\.json$/, ".md"), `${table.join("\n")}\n`);
}

function round(value: number): number {
  return Number(value.toPrecision(3));
}
