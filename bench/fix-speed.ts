/**
 * @file What a fix takes with another build of tc-lint, and with this one: of real exports, run in turn.
 *
 *   node scripts/build.mjs --no-types && node scripts/run.mjs bench/fix-speed.ts --before OTHER/dist [--models crnn,dlrm] [--rounds 3] [--out bench/results/fix-speed.json]
 *
 * User time of the process and of those that it starts, the least of the rounds: a machine that is busy adds to it.
 * `passes` is the fix alone (--no-verify), `proof` with its comparison, `unsafe` with half precision as well.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";

const { values: options } = parseArgs({
  options: {
    before: { type: "string" },
    after: { type: "string", default: "dist" },
    models: {
      type: "string",
      default:
        "crnn,dlrm,gpt2,misaligned_cnn,misaligned_mlp,mobilenet_v2,resnet50,seg_unet,squeezenet,vit_tiny",
    },
    rounds: { type: "string", default: "3" },
    out: { type: "string" },
  },
});
if (options.before === undefined) throw new Error("--before: the dist folder of the build to compare with");

const ways = {
  passes: ["--fix-only", "--no-verify"],
  proof: ["--fix-only"],
  unsafe: ["--fix-only", "--unsafe-fixes"],
} as const;
type Way = keyof typeof ways;

interface Row {
  readonly model: string;
  readonly way: Way;
  readonly beforeSeconds: number;
  readonly afterSeconds: number;
  /** Whether both wrote the same bytes. */
  readonly same: boolean;
}

const folder = mkdtempSync(path.join(tmpdir(), "tc-lint-speed-"));
const rows: Row[] = [];
try {
  for (const model of options.models.split(",")) {
    execFileSync(process.execPath, [path.resolve("..", "shared", "zoo", "materialize.mjs"), folder, model], {
      stdio: "ignore",
    });
    for (const way of Object.keys(ways) as Way[]) {
      const row = compare(model, way, options.before);
      rows.push(row);
      console.log(lineOf(row));
    }
    for (const end of [".onnx", ".weights"]) rmSync(path.join(folder, `${model}${end}`), { force: true });
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
for (const way of Object.keys(ways)) {
  const own = rows.filter((row) => row.way === way);
  console.log(`${way}: ${ratioOf(own).toFixed(2)} times the time of before`);
}
if (options.out !== undefined) save(options.out);

function compare(model: string, way: Way, before: string): Row {
  const runs = { before: [] as Run[], after: [] as Run[] };
  for (let round = 0; round < Number(options.rounds); round++) {
    runs.before.push(run(before, model, way));
    runs.after.push(run(options.after, model, way));
  }
  const least = (of: readonly Run[]) => Math.min(...of.map(({ userSeconds }) => userSeconds));
  return {
    model,
    way,
    beforeSeconds: least(runs.before),
    afterSeconds: least(runs.after),
    same: runs.before[0]?.hash === runs.after[0]?.hash,
  };
}

interface Run {
  readonly userSeconds: number;
  readonly hash: string;
}

function run(dist: string, model: string, way: Way): Run {
  const result = path.join(folder, "result.onnx");
  const { status, stderr } = spawnSync(
    "/usr/bin/env",
    [
      "time",
      "-f",
      "used %U",
      process.execPath,
      path.join(dist, "bin", "tc-lint.js"),
      ...ways[way],
      "--fix-output",
      result,
      path.join(folder, `${model}.onnx`),
    ],
    { stdio: ["ignore", "ignore", "pipe"], encoding: "utf8" },
  );
  if (status !== 0) throw new Error(`${model}, ${way}: ${stderr}`);
  const hash = existsSync(result)
    ? createHash("sha256").update(readFileSync(result)).digest("hex")
    : "nothing";
  rmSync(result, { force: true });
  return { userSeconds: Number(/used ([\d.]+)/.exec(stderr)?.[1] ?? Number.NaN), hash };
}

function ratioOf(some: readonly Row[]): number {
  const logs = some.map(({ beforeSeconds, afterSeconds }) => Math.log(afterSeconds / beforeSeconds));
  return Math.exp(logs.reduce((total, log) => total + log, 0) / logs.length);
}

function lineOf({ model, way, beforeSeconds, afterSeconds, same }: Row): string {
  const ratio = (afterSeconds / beforeSeconds).toFixed(2);
  return `| ${[model, way, beforeSeconds.toFixed(2), afterSeconds.toFixed(2), ratio, same ? "same" : "other"].join(" | ")} |`;
}

function save(out: string): void {
  const command = `node scripts/build.mjs --no-types && node scripts/run.mjs bench/fix-speed.ts --before OTHER/dist --out ${out}`;
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version };
  writeFileSync(out, `${JSON.stringify({ command, machine, rows }, undefined, 1)}\n`);
  const table = [
    `Made by \`${command}\` on ${machine.cores} × ${machine.cpu}, Node ${machine.node}. Seconds of user time, the least of ${options.rounds} runs of each build, in turn.`,
    "",
    "| model | way | before | after | ratio | bytes |",
    "|---|---|---:|---:|---:|---|",
    ...rows.map(lineOf),
    "",
    ...Object.keys(ways).map(
      (way) =>
        `${way}: ${ratioOf(rows.filter((row) => row.way === way)).toFixed(2)} times the time of before (geometric mean).`,
    ),
  ];
  writeFileSync(out.replace(/\.json$/, ".md"), `${table.join("\n")}\n`);
}
