/**
 * @file Time, memory and bytes read of `tc-lint`, as ratios to starting Node in the same run: npm run bench.
 *
 * Prints each figure with its limit, writes bench/results/startup.json and exits with 1 where a limit is exceeded. Needs ../shared/zoo,
 * 2 GB of disk, a build (npm run build) and a machine that does nothing else: about a minute on two cores. `-- --million`
 * takes graphs of a hundred thousand and a million nodes in place of ten times fewer: a quarter of an hour.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

interface Limits {
  /** Of the time of `node -e 0`. */
  readonly ratio?: number;
  readonly milliseconds?: number;
  readonly peakMegabytes: number;
  readonly readMegabytes?: number;
}

interface Case {
  readonly name: string;
  readonly args: readonly string[];
  readonly runs: number;
  readonly limits: Limits;
}

interface Run {
  readonly milliseconds: number;
  readonly peakBytes: number;
  readonly bytesRead: number | undefined;
}

const { values: options } = parseArgs({ options: { million: { type: "boolean", default: false } } });
const cli = path.resolve("dist/bin/tc-lint.js");
const zoo = path.resolve("..", "shared", "zoo");
const probe = pathToFileURL(path.resolve("bench/probe.mjs")).href;
const nodeArgs = ["-e", "0"];
const shortRuns = 10;
const zooRuns = 4;
const smallGraphRuns = 3;
/** The time of one graph over that of a tenth of it. */
const maxGrowth = 12;
const graphs = options.million ? [100_000, 1_000_000] : [10_000, 100_000];
/** Of one process: whatever takes longer hangs. */
const timeoutMilliseconds = options.million ? 1_200_000 : 120_000;

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
    base.push(millisecondsOf(nodeArgs));
    for (const each of cases)
      if (round < each.runs) times.get(each)?.push(millisecondsOf([cli, ...each.args]));
  }
  const nodeMilliseconds = Math.min(...base);
  const results = cases.map((each) => resultOf(each, times.get(each) ?? [], nodeMilliseconds));
  const growth = growthOf(results.slice(-graphs.length));
  for (const each of results) for (const line of linesOf(each)) console.log(line);
  console.log(lineOf(growth.name, "times as long", growth.ratio, growth.limit));
  const report = {
    command: `npm run build && npm run bench${options.million ? " -- --million" : ""}`,
    method: `wall time, least of ${shortRuns} interleaved runs (of ${zooRuns} for the zoo, of ${smallGraphRuns} and of one for the synthetic graphs); memory and bytes of one more run`,
    machine: { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version },
    nodeMilliseconds: round3(nodeMilliseconds),
    results,
    growth,
  };
  mkdirSync("bench/results", { recursive: true });
  writeFileSync("bench/results/startup.json", `${JSON.stringify(report, undefined, 2)}\n`);
  return growth.ok && results.every(({ ok }) => ok);
}

/** Writes the models into the folder. The synthetic graphs come last. */
function prepare(): Case[] {
  // In a process of its own: starting a process takes longer from one that holds a gigabyte.
  const write = ["scripts/run.mjs", "bench/write-models.ts", folder, ...graphs.map(String)];
  execFileSync(process.execPath, write, { stdio: "inherit" });
  const lint = (name: string, model: string, limits: Limits, runs = shortRuns): Case => {
    const megabytes = Math.round(statSync(model).size / 1e6);
    return { name: `${name}, ${megabytes} MB`, args: ["--exit-zero", model], runs, limits };
  };
  const synthetic = graphs.map((nodes, index) => {
    const file = path.join(folder, `synthetic-${nodes}.onnx`);
    // The larger takes longer than all else here together: timed where it is weighed.
    const runs = index === 0 ? smallGraphRuns : 0;
    return lint(`${nodes.toLocaleString("en-US")} nodes`, file, { peakMegabytes: 3000 }, runs);
  });
  const inlined = (name: string) => path.join(folder, `${name}_inlined.onnx`);
  const zooLimits = { milliseconds: 3000, peakMegabytes: 800 };
  return [
    { name: "--version", args: ["--version"], runs: shortRuns, limits: { ratio: 1.6, peakMegabytes: 130 } },
    lint("resnet50", inlined("resnet50"), { ratio: 4, peakMegabytes: 130 }),
    lint("video_unet_192", inlined("video_unet_192"), { ratio: 6, peakMegabytes: 150, readMegabytes: 16 }),
    { name: "zoo of 54", args: ["--exit-zero", zoo], runs: zooRuns, limits: zooLimits },
    ...synthetic,
  ];
}

function millisecondsOf(args: readonly string[]): number {
  const start = performance.now();
  const ended = spawnSync(process.execPath, args, { stdio: "ignore", timeout: timeoutMilliseconds });
  checkEnded(args, ended);
  return performance.now() - start;
}

function checkEnded(
  args: readonly string[],
  { status, signal }: { status: number | null; signal: string | null },
) {
  if (status === 0) return;
  throw new Error(
    `node ${args.join(" ")} ended with ${status ?? signal} (at most ${timeoutMilliseconds} ms)`,
  );
}

type Result = ReturnType<typeof resultOf>;

function resultOf({ name, args, limits }: Case, times: readonly number[], nodeMilliseconds: number) {
  const weighed = weigh(args);
  const milliseconds = times.length === 0 ? weighed.milliseconds : Math.min(...times);
  const { peakBytes, bytesRead } = weighed;
  const measured = {
    milliseconds: round3(milliseconds),
    ratio: round3(milliseconds / nodeMilliseconds),
    peakMegabytes: round3(peakBytes / 1e6),
    readMegabytes: bytesRead === undefined ? undefined : round3(bytesRead / 1e6),
  };
  const within = (limit: number | undefined, value: number | undefined) =>
    limit === undefined || (value !== undefined && value <= limit);
  const ok =
    within(limits.ratio, measured.ratio) &&
    within(limits.milliseconds, measured.milliseconds) &&
    within(limits.peakMegabytes, measured.peakMegabytes) &&
    within(limits.readMegabytes, measured.readMegabytes);
  return { name, ...measured, limits, ok };
}

/** One more run, with its peak memory, and bytes that read calls returned. */
function weigh(args: readonly string[]): Run {
  const all = ["--import", probe, cli, ...args];
  const start = performance.now();
  const ended = spawnSync(process.execPath, all, {
    stdio: ["ignore", "ignore", "inherit", "pipe"],
    encoding: "utf8",
    timeout: timeoutMilliseconds,
  });
  checkEnded(all, ended);
  return { milliseconds: performance.now() - start, ...JSON.parse(ended.output[3] ?? "") };
}

/** Of the larger synthetic graph over the smaller. */
function growthOf([small, large]: readonly Result[]) {
  const ratio = round3((large?.milliseconds ?? Number.NaN) / (small?.milliseconds ?? Number.NaN));
  const name = `${large?.name} over ${small?.name}`;
  return { name, ratio, limit: maxGrowth, ok: ratio <= maxGrowth };
}

function linesOf({ name, limits, ...measured }: Result): string[] {
  return [
    lineOf(name, "× node -e 0", measured.ratio, limits.ratio),
    lineOf(name, "ms", measured.milliseconds, limits.milliseconds),
    lineOf(name, "MB at most", measured.peakMegabytes, limits.peakMegabytes),
    lineOf(name, "MB read", measured.readMegabytes, limits.readMegabytes),
  ];
}

/** A figure, and where it has one its limit and its share of that. */
function lineOf(name: string, unit: string, value: number | undefined, limit: number | undefined): string {
  const figure = `${name}: ${value ?? "not known"} ${unit}`;
  if (limit === undefined) return figure;
  const isOver = value === undefined || value > limit;
  return `${figure}, limit ${limit}: ${round3((value ?? Number.NaN) / limit)} of it${isOver ? ", EXCEEDED" : ""}`;
}

function round3(value: number): number {
  return Number(value.toPrecision(3));
}
