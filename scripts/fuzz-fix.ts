/**
 * @file A campaign of fixes over drawn networks: is anything proven that is wrong, is anything refused?
 *
 *   node scripts/run.mjs scripts/fuzz-fix.ts [--runs 4000] [--minutes 60] [--seed 1] [--modes safe,fp16,bf16,nhwc,all,again]
 *       [--workers 1] [--state FILE.jsonl] [--out bench/results/fuzz-fix.md]
 *
 * `--runs` networks for each mode, with the seeds from --seed on. Every network is fixed and proven as by `tc-lint --fix`,
 * and looked at again at other sizes, on unusual inputs and with optimizations off (test/fix/refute.ts). Workers are
 * processes of their own: of a network that one dies of, models run in processes of their own in turn, as by the
 * command line (dist/verify-child.js, so build first). A state
 * file keeps what was found; a campaign that is started again with it goes on where it was.
 */
import { type ChildProcess, execFileSync, fork } from "node:child_process";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { drawNetwork, type Mode, modes, type Tried, tryNetwork, verdicts } from "../test/fix/drawn.ts";

interface Job {
  readonly mode: Mode;
  readonly seed: number;
  /** Whether models run in processes of their own, as by the command line: where a worker died of the network. */
  readonly isCareful?: boolean;
}

type Result = Job & Omit<Tried, "verdict"> & { readonly verdict: Tried["verdict"] | "crashed" };

const columns = [...verdicts, "crashed"] as const;
/** ONNX Runtime and its sessions do not give everything back. */
const jobsOfWorker = 400;
/** A network takes less than a second. */
const hangMilliseconds = 120_000;

const childUrl = pathToFileURL(resolve("dist/verify-child.js"));

if (process.send === undefined) await main();
else process.on("message", (job: Job) => void work(job));

async function work({ mode, seed, isCareful = false }: Job): Promise<void> {
  const report = async (): Promise<Tried | { verdict: "crashed"; detail: string }> => {
    try {
      return await tryNetwork(drawNetwork(seed, mode), mode, isCareful ? childUrl : undefined);
    } catch (error) {
      return {
        verdict: "crashed",
        detail: error instanceof Error ? (error.stack ?? error.message) : String(error),
      };
    }
  };
  process.send?.({ mode, seed, ...(await report()) } satisfies Result);
}

async function main(): Promise<void> {
  const { values: options } = parseArgs({
    options: {
      runs: { type: "string", default: "4000" },
      minutes: { type: "string", default: "Infinity" },
      seed: { type: "string", default: "1" },
      modes: { type: "string", default: Object.keys(modes).join(",") },
      workers: { type: "string", default: "1" },
      state: { type: "string" },
      out: { type: "string" },
    },
  });
  const chosen = options.modes.split(",").map((name) => {
    const mode = Object.keys(modes).find((each): each is Mode => each === name);
    if (mode === undefined) throw new Error(`--modes: ${name} is none of ${Object.keys(modes).join(", ")}`);
    return mode;
  });
  const results = options.state !== undefined && existsSync(options.state) ? read(options.state) : [];
  const known = new Set(results.map(keyOf));
  const first = Number(options.seed);
  const jobs = Array.from({ length: Number(options.runs) }, (_, index) =>
    chosen.map((mode) => ({ mode, seed: first + index })),
  )
    .flat()
    .filter((job) => !known.has(keyOf(job)));
  const end = performance.now() + 60_000 * Number(options.minutes);
  const started = performance.now();
  const next = () => (performance.now() < end ? jobs.shift() : undefined);
  const save = (result: Result) => {
    results.push(result);
    if (options.state !== undefined) appendFileSync(options.state, `${JSON.stringify(result)}\n`);
    if (!["fixed", "unchanged", "declined", "not run"].includes(result.verdict))
      console.log(`${result.mode} ${result.seed}: ${result.verdict}: ${result.detail.slice(0, 400)}`);
    if (results.length % 200 === 0) console.log(summary(results).join("\n"));
  };
  await Promise.all(Array.from({ length: Number(options.workers) }, () => serve(next, save)));
  const minutes = (performance.now() - started) / 60_000;
  console.log(summary(results).join("\n"));
  if (options.out !== undefined) writeFileSync(options.out, page(results, minutes));
}

function keyOf({ mode, seed }: Job): string {
  return `${mode} ${seed}`;
}

function read(state: string): Result[] {
  return readFileSync(state, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line): Result => JSON.parse(line));
}

/** One worker after another, until there is nothing left to do. */
async function serve(next: () => Job | undefined, save: (result: Result) => void): Promise<void> {
  for (let job = next(); job !== undefined; ) {
    const worker = fork(fileURLToPath(import.meta.url), { stdio: ["ignore", "ignore", "ignore", "ipc"] });
    for (let done = 0; job !== undefined && done < jobsOfWorker; done++) {
      const result = await ask(worker, job);
      if (result.verdict === "crashed" && !job.isCareful) {
        job = { ...job, isCareful: true };
        break;
      }
      save(result);
      job = next();
      if (worker.exitCode !== null || worker.signalCode !== null) break;
    }
    worker.kill("SIGKILL");
  }
}

function ask(worker: ChildProcess, job: Job): Promise<Result> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => worker.kill("SIGKILL"), hangMilliseconds);
    const settle = (result: Result) => {
      clearTimeout(timer);
      worker.removeAllListeners();
      resolve(result);
    };
    worker.once("message", (result: Result) => settle(result));
    worker.once("exit", (code, signal) =>
      settle({ ...job, verdict: "crashed", detail: `the process ended: ${signal ?? code}` }),
    );
    worker.send(job);
  });
}

function summary(results: readonly Result[]): string[] {
  const rows = Object.keys(modes).map((mode) => {
    const own = results.filter((each) => each.mode === mode);
    const counts = columns.map((column) => own.filter(({ verdict }) => verdict === column).length);
    return [mode, own.length, ...counts];
  });
  const totals = rows.reduce<number[]>(
    (sums, row) => row.slice(1).map((count, at) => Number(count) + (sums[at] ?? 0)),
    [],
  );
  return [
    `| mode | networks | ${columns.join(" | ")} |`,
    `|---|${"---:|".repeat(columns.length + 1)}`,
    ...[...rows, ["**all**", ...totals]].map((row) => `| ${row.join(" | ")} |`),
  ];
}

function page(results: readonly Result[], minutes: number): string {
  const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
  const command = `node scripts/run.mjs scripts/fuzz-fix.ts ${process.argv.slice(2).join(" ")}`;
  const notable = results.filter(({ verdict }) =>
    ["bisected", "refused", "wrong", "beyond", "crashed"].includes(verdict),
  );
  return [
    "# Fixes of drawn networks",
    "",
    `\`${command}\` at ${commit}, ${minutes.toFixed(0)} minutes.`,
    "",
    ...summary(results),
    "",
    "*Wrong*: proven by the fix, and refuted by another look at other sizes, on unusual inputs or with optimizations off.",
    "*Beyond*: the same, where a product of the original reads infinities or NaN, of which a fix promises nothing (docs/fixing.md).",
    "*Bisected*: a part failed verification and was left out. *Declined*: it has no BF16 form. *Not run*: ONNX Runtime does not take the network itself.",
    ...(notable.length === 0 ? [] : ["", "| mode | seed | | |", "|---|---:|---|---|"]),
    ...notable.slice(0, 100).map(({ mode, seed, verdict, detail }) => {
      const text = detail.replaceAll("|", "/").replaceAll("\n", " ").slice(0, 300);
      return `| ${mode} | ${seed} | ${verdict} | ${text} |`;
    }),
    "",
  ].join("\n");
}
