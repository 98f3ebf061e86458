/**
 * @file Many models on several machines: ten thousand links to the exports of the zoo, linted in shards and merged, against one run of all.
 *
 *   npm run build && node scripts/run.mjs bench/shards.ts [--models 10000] [--shards 4] [--jobs 1] [--largest BYTES] [--out bench/results/shards.json]
 *
 * Prints time a model and peak resident memory of each run, and fails where a merged report is not the unsharded one byte for byte, or
 * its exit code is another. With --out the figures go to FILE.json and a table to FILE.md.
 */
import {
  copyFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { cpus, tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { FileSource } from "../src/wire/file-source.ts";
import { readRange } from "../src/wire/source.ts";
import { runCli } from "../test/cli-process.ts";

const { values: options } = parseArgs({
  options: {
    models: { type: "string", default: "10000" },
    shards: { type: "string", default: "4" },
    jobs: { type: "string", default: "1" },
    zoo: { type: "string", default: "../shared/zoo" },
    /** Only exports of no more bytes: on a machine that has little time. */
    largest: { type: "string", default: "Infinity" },
    cli: { type: "string", default: "dist/bin/tc-lint.js" },
    out: { type: "string" },
  },
});
const [models, shards] = [Number(options.models), Number(options.shards)];
const formats = ["text", "json", "sarif", "markdown"] as const;
/** Of a run of all models. */
const timeoutSeconds = 6 * 3600;
const modelsAFolder = 500;

interface Row {
  readonly run: string;
  readonly models: number;
  readonly exitCode: number | null;
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly peakMebibytes: number;
}

const folder = mkdtempSync(path.join(tmpdir(), "tc-lint-shards-"));
try {
  writeLinks();
  const rows = await measured();
  const differing = formats.filter((format) => !isSame(`whole.${format}`, `merged.${format}`));
  const codes = new Set(rows.filter(({ models: count }) => count === models).map(({ exitCode }) => exitCode));
  report(rows, differing);
  if (differing.length > 0 || codes.size !== 1) {
    console.error(`not equal: ${differing.join(", ")}; exit codes ${[...codes].join(", ")}`);
    process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Hard links: discovery takes them for files, and ten thousand of them take no room. */
function writeLinks(): void {
  const names = zooNames();
  for (const name of names) copyFileSync(path.join(options.zoo, name), path.join(folder, `${name}.copy`));
  for (let index = 0; index < models; index++) {
    const name = names[index % names.length] ?? "";
    const below = path.join(folder, "models", String(Math.floor(index / modelsAFolder)));
    mkdirSync(below, { recursive: true });
    linkSync(path.join(folder, `${name}.copy`), path.join(below, `${index}-${name}`));
  }
}

function zooNames(): string[] {
  const isTaken = (name: string) =>
    name.endsWith(".onnx") && statSync(path.join(options.zoo, name)).size <= Number(options.largest);
  return readdirSync(options.zoo).filter(isTaken);
}

async function measured(): Promise<Row[]> {
  const to = (name: string) => formats.flatMap((format) => ["-f", `${format}=${name}.${format}`]);
  const jobs = ["--jobs", options.jobs];
  const rows = [await run("all models, unsharded", models, ["models", ...jobs, ...to("whole")])];
  const blobs = Array.from({ length: shards }, (_, at) => `${at + 1}.blob`);
  for (const [at, blob] of blobs.entries()) {
    const shard = `${at + 1}/${shards}`;
    const args = ["models", ...jobs, "--shard", shard, "-f", `blob=${blob}`];
    rows.push(await run(`shard ${shard}`, Math.round(models / shards), args));
  }
  rows.push(await run("merge-reports", models, ["merge-reports", ...blobs, ...to("merged")]));
  return rows;
}

async function run(name: string, count: number, args: readonly string[]): Promise<Row> {
  const start = performance.now();
  const probe = pathToFileURL(path.resolve("bench/probe.mjs")).href;
  const cli = { script: path.resolve(options.cli), [Symbol.dispose]: () => {} };
  const result = await runCli(cli, args, { cwd: folder, timeoutSeconds, probe });
  const row = {
    run: name,
    models: count,
    exitCode: result.exitCode,
    seconds: (performance.now() - start) / 1000,
    cpuSeconds: result.cpuSeconds,
    peakMebibytes: result.peakBytes / 2 ** 20,
  };
  console.log(JSON.stringify(row), result.stderr.slice(0, 500));
  return row;
}

/** Reports of ten thousand models are no string. */
function isSame(one: string, other: string): boolean {
  const [a, b] = [one, other].map((name) => FileSource.open(path.join(folder, name)));
  if (a === undefined || b === undefined || a.size !== b.size) return false;
  const piece = 1 << 20;
  for (let at = 0; at < a.size; at += piece) {
    const length = Math.min(piece, a.size - at);
    if (!readRange(a, at, length).equals(readRange(b, at, length))) return false;
  }
  return true;
}

function exportsText(): string {
  const bound = Number(options.largest);
  const which = Number.isFinite(bound) ? ` of no more than ${bound} bytes` : "";
  return `the ${zooNames().length} exports of the zoo${which}`;
}

function report(rows: readonly Row[], differing: readonly string[]): void {
  const sizes = formats.map((format) => ({
    format,
    bytes: statSync(path.join(folder, `whole.${format}`)).size,
  }));
  const lines = [
    "| run | models | ms a model | CPU ms a model | s | peak memory, MiB |",
    "|---|---:|---:|---:|---:|---:|",
    ...rows.map(({ run: name, models: count, seconds, cpuSeconds, peakMebibytes }) => {
      const figures = [(1000 * seconds) / count, (1000 * cpuSeconds) / count, seconds, peakMebibytes];
      return `| ${name} | ${count} | ${figures.map((figure) => String(Number(figure.toPrecision(3)))).join(" | ")} |`;
    }),
  ];
  const equal = formats.filter((format) => !differing.includes(format));
  const bytes = sizes
    .map(({ format, bytes: size }) => `${format} ${(size / 2 ** 20).toFixed(2)} MiB`)
    .join(", ");
  const verdict = `Equal byte for byte, merged and unsharded: ${equal.join(", ")} (${bytes}).`;
  console.log(`${lines.join("\n")}\n\n${verdict}`);
  if (options.out === undefined) return;
  const stem = options.out.replace(/\.(json|md)$/, "");
  const machine = `Node ${process.version}, ${cpus()[0]?.model ?? "unknown"}, --jobs ${options.jobs}`;
  writeFileSync(`${stem}.json`, `${JSON.stringify({ machine, rows, sizes, differing }, null, 2)}\n`);
  const head = [
    "# Many models, many machines",
    "",
    `\`node scripts/run.mjs bench/shards.ts\`: ${models} links to ${exportsText()}, linted at once and in ${shards} shards that are merged.`,
    `${machine}; the machine was shared.`,
  ];
  writeFileSync(`${stem}.md`, `${[...head, "", ...lines, "", verdict].join("\n")}\n`);
}
