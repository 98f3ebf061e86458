/**
 * @file Time, memory and bytes read of `tc-lint`, as ratios to starting Node in the same run: npm run bench.
 *
 * Writes bench/results/startup.json and exits with 1 where a limit is exceeded. Needs ../shared/zoo, 2 GB of disk, and
 * a build (npm run build).
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

interface Limits {
  /** Of the time of `node -e 0`. */
  readonly ratio?: number;
  readonly peakMegabytes: number;
  readonly readMegabytes?: number;
}

interface Case {
  readonly name: string;
  readonly args: readonly string[];
  readonly runs: number;
  readonly limits: Limits;
}

interface Used {
  readonly peakBytes: number;
  readonly bytesRead: number | undefined;
}

const cli = path.resolve("dist/bin/tc-lint.js");
const zoo = path.resolve("..", "shared", "zoo");
const probe = pathToFileURL(path.resolve("bench/probe.mjs")).href;
const nodeArgs = ["-e", "0"];
const shortRuns = 15;
/** The time of a million nodes over that of a hundred thousand. */
const maxGrowth = 12;

for (const needed of [cli, zoo]) {
  if (existsSync(needed)) continue;
  console.error(`bench: ${path.relative(".", needed)} is not here`);
  process.exit(2);
}
const folder = mkdtempSync(path.join(tmpdir(), "tc-lint-bench-"));
try {
  process.exitCode = run() ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

function run(): boolean {
  const cases = prepare();
  const base: number[] = [];
  const times = new Map<Case, number[]>(cases.map((each) => [each, []]));
  // Interleaved, so that a busy moment of the machine falls on all alike.
  for (let round = 0; round < shortRuns; round++) {
    base.push(seconds(nodeArgs));
    for (const each of cases) if (round < each.runs) times.get(each)?.push(seconds([cli, ...each.args]));
  }
  const nodeSeconds = Math.min(...base);
  const results = cases.map((each) => resultOf(each, times.get(each) ?? [], nodeSeconds));
  const growth = ratioOf(results, "1,000,000 nodes", "100,000 nodes");
  const grew = {
    name: "1,000,000 nodes over 100,000",
    ratio: round3(growth),
    limit: maxGrowth,
    ok: growth <= maxGrowth,
  };
  for (const each of [...results, grew]) console.log(JSON.stringify(each));
  const report = {
    command: "npm run build && npm run bench",
    method: `wall time, least of ${shortRuns} interleaved runs (of 3 for the synthetic graphs); memory and bytes of one more run`,
    machine: { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version },
    nodeMilliseconds: round3(1000 * nodeSeconds),
    results,
    growth: grew,
  };
  mkdirSync("bench/results", { recursive: true });
  writeFileSync("bench/results/startup.json", `${JSON.stringify(report, undefined, 2)}\n`);
  return grew.ok && results.every(({ ok }) => ok);
}

/** Writes the models into the folder. */
function prepare(): Case[] {
  // In a process of its own: starting a process takes longer from one that holds a gigabyte.
  execFileSync(process.execPath, ["scripts/run.mjs", "bench/write-models.ts", folder], { stdio: "inherit" });
  const lint = (name: string, model: string, limits: Limits, runs = shortRuns): Case => {
    const megabytes = Math.round(statSync(model).size / 1e6);
    return { name: `${name}, ${megabytes} MB`, args: ["--exit-zero", model], runs, limits };
  };
  const synthetic = [100_000, 1_000_000].map((nodes) => {
    const file = path.join(folder, `synthetic-${nodes}.onnx`);
    return lint(`${nodes.toLocaleString("en-US")} nodes`, file, { peakMegabytes: 3000 }, 3);
  });
  const inlined = (name: string) => path.join(folder, `${name}_inlined.onnx`);
  return [
    { name: "--version", args: ["--version"], runs: shortRuns, limits: { ratio: 1.6, peakMegabytes: 130 } },
    lint("resnet50", inlined("resnet50"), { ratio: 4, peakMegabytes: 130 }),
    lint("video_unet_192", inlined("video_unet_192"), { ratio: 6, peakMegabytes: 150, readMegabytes: 16 }),
    ...synthetic,
  ];
}

function seconds(args: readonly string[]): number {
  const start = performance.now();
  const { status, signal } = spawnSync(process.execPath, args, { stdio: "ignore" });
  if (status !== 0) throw new Error(`node ${args.join(" ")} ended with ${status ?? signal}`);
  return (performance.now() - start) / 1000;
}

function resultOf({ name, args, limits }: Case, times: readonly number[], nodeSeconds: number) {
  const { peakBytes, bytesRead } = used(args);
  const measured = {
    ratio: round3(Math.min(...times) / nodeSeconds),
    peakMegabytes: round3(peakBytes / 1e6),
    readMegabytes: bytesRead === undefined ? undefined : round3(bytesRead / 1e6),
  };
  const within = (limit: number | undefined, value: number | undefined) =>
    limit === undefined || (value !== undefined && value <= limit);
  const ok =
    within(limits.ratio, measured.ratio) &&
    within(limits.peakMegabytes, measured.peakMegabytes) &&
    within(limits.readMegabytes, measured.readMegabytes);
  return { name, milliseconds: round3(1000 * Math.min(...times)), ...measured, limits, ok };
}

/** Peak memory, and bytes that read calls returned. */
function used(args: readonly string[]): Used {
  const { output } = spawnSync(process.execPath, ["--import", probe, cli, ...args], {
    stdio: ["ignore", "ignore", "inherit", "pipe"],
    encoding: "utf8",
  });
  return JSON.parse(output[3] ?? "");
}

function ratioOf(
  results: readonly { name: string; milliseconds: number }[],
  above: string,
  below: string,
): number {
  const timeOf = (name: string) =>
    results.find((each) => each.name.startsWith(name))?.milliseconds ?? Number.NaN;
  return timeOf(above) / timeOf(below);
}

function round3(value: number): number {
  return Number(value.toPrecision(3));
}
