/**
 * @file Damaged models through everything that tc-lint does with one: lint and every report, fixes, differences, plans.
 *
 *   npm run fuzz -- [--minutes 1] [--runs 1000000] [--seed N] [--workers 1] [--keep out/fuzz] [--out bench/results/fuzz.md]
 *
 * A run's number and the seed determine it. Anything but an answer or a named refusal is a crash, as is a run of more than
 * 5 s, or one that takes 500 MB more than the model has. A crash is cut down and kept, as base64, in --keep: what is
 * mended goes to test/fuzz/crashes, where it stays. Exit code 1 where there was one.
 */
import { type ChildProcess, execFileSync, fork } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Corpus } from "../test/fuzz/corpus.ts";
import { minimize } from "../test/fuzz/minimize.ts";
import { caseOf, type Result, runCase, signatureOf } from "../test/fuzz/run.ts";

/** Runs that a worker is given at once. */
const batch = 100;
/** The peak of a process only grows: a fresh one measures anew. */
const batchesOfWorker = 30;
const maxSeconds = 5;
const maxGrownBytes = 500e6;
const hangMilliseconds = 60_000;

interface Batch {
  readonly seed: number;
  readonly from: number;
  readonly count: number;
}

type Answer = Result & { readonly run: number };

// Scripts run bundled: what lies around the checkout is found from where npm starts them.
const whole = path.join("..", "shared", "zoo");
const zoo = existsSync(whole) ? whole : path.join("fixtures", "zoo");

function serveBatches(): void {
  const corpus = new Corpus(zoo);
  const folder = mkdtempSync(path.join(tmpdir(), "tc-lint-fuzz-"));
  process.on("message", async ({ seed, from, count }: Batch) => {
    const answers: Answer[] = [];
    for (let run = from; run < from + count; run++) {
      answers.push({ run, ...(await runCase(caseOf(corpus, seed, run), folder)) });
    }
    process.send?.(answers);
  });
  process.on("disconnect", () => {
    rmSync(folder, { recursive: true, force: true });
    process.exit(0);
  });
}

async function main(): Promise<void> {
  const { values: options } = parseArgs({
    options: {
      minutes: { type: "string", default: "1" },
      runs: { type: "string", default: "Infinity" },
      seed: { type: "string", default: String(Date.now() % 2 ** 31) },
      workers: { type: "string", default: "1" },
      keep: { type: "string", default: "out/fuzz" },
      out: { type: "string" },
    },
  });
  const campaign = new Campaign(Number(options.seed), options.keep);
  const start = performance.now();
  const end = start + 60_000 * Number(options.minutes);
  let next = 0;
  const take = (): Batch | undefined => {
    if (performance.now() > end || next >= Number(options.runs)) return undefined;
    next += batch;
    return { seed: campaign.seed, from: next - batch, count: batch };
  };
  await Promise.all(Array.from({ length: Number(options.workers) }, () => serve(take, campaign)));
  const minutes = (performance.now() - start) / 60_000;
  console.log(campaign.summary(minutes).join("\n"));
  if (options.out !== undefined) writeFileSync(options.out, `${campaign.page(minutes).join("\n")}\n`);
  process.exitCode = campaign.crashes.size === 0 ? 0 : 1;
}

async function serve(take: () => Batch | undefined, campaign: Campaign): Promise<void> {
  for (let job = take(); job !== undefined; ) {
    const worker = start();
    for (let done = 0; job !== undefined && done < batchesOfWorker; done++) {
      const answers = await ask(worker, job);
      if (answers === undefined) {
        await findLost(job, campaign);
        job = take();
        break;
      }
      for (const answer of answers) await campaign.add(answer);
      job = take();
    }
    worker.kill("SIGKILL");
  }
}

function start(): ChildProcess {
  return fork(fileURLToPath(import.meta.url), { stdio: ["ignore", "ignore", "ignore", "ipc"] });
}

/** Undefined where the worker hung or died. */
function ask(worker: ChildProcess, job: Batch): Promise<Answer[] | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => settle(undefined), hangMilliseconds);
    const settle = (answers: Answer[] | undefined) => {
      clearTimeout(timer);
      worker.removeAllListeners();
      if (answers === undefined) worker.kill("SIGKILL");
      resolve(answers);
    };
    worker.once("message", (answers: Answer[]) => settle(answers));
    worker.once("exit", () => settle(undefined));
    worker.send(job, (error) => error !== null && settle(undefined));
  });
}

/** The batch again, a run at a time. */
async function findLost(job: Batch, campaign: Campaign): Promise<void> {
  let worker = start();
  for (let run = job.from; run < job.from + job.count; run++) {
    const [answer] = (await ask(worker, { ...job, from: run, count: 1 })) ?? [];
    if (answer !== undefined) {
      await campaign.add(answer);
      continue;
    }
    campaign.lose(run);
    worker = start();
  }
  worker.kill("SIGKILL");
}

interface Crash {
  readonly run: number;
  readonly mode: string;
  readonly text: string;
  count: number;
}

class Campaign {
  readonly seed: number;
  readonly crashes = new Map<string, Crash>();
  readonly #keep: string;
  readonly #corpus = new Corpus(zoo);
  readonly #codes = new Map<string, number>();
  readonly #modes = new Map<string, number>();
  #runs = 0;
  #slowest: Answer | undefined;
  #largest: Answer | undefined;

  constructor(seed: number, keep: string) {
    this.seed = seed;
    this.#keep = keep;
  }

  async add(answer: Answer): Promise<void> {
    this.#runs += 1;
    const { mode, code, seconds, grownBytes, error, run } = answer;
    this.#codes.set(code, (this.#codes.get(code) ?? 0) + 1);
    this.#modes.set(mode, (this.#modes.get(mode) ?? 0) + 1);
    if (seconds > (this.#slowest?.seconds ?? 0)) this.#slowest = answer;
    if (grownBytes > (this.#largest?.grownBytes ?? 0)) this.#largest = answer;
    if (error !== undefined) await this.#crash(signatureOf(error), { run, mode, text: error, count: 1 });
    if (seconds > maxSeconds)
      await this.#crash(`slow in ${mode}`, { run, mode, text: `took ${seconds.toFixed(1)} s`, count: 1 });
    if (grownBytes > maxGrownBytes) {
      const text = `took ${(grownBytes / 1e6).toFixed(0)} MB beyond the model's size`;
      await this.#crash(`large in ${mode}`, { run, mode, text, count: 1 });
    }
    if (this.#runs % 50_000 === 0) console.log(`${this.#runs} runs, ${this.crashes.size} kinds of crash`);
  }

  lose(run: number): void {
    const { mode, bytes } = caseOf(this.#corpus, this.seed, run);
    this.#runs += 1;
    this.#note(`lost in ${mode}`, { run, mode, text: "the process hung or died", count: 1 }, bytes);
  }

  async #crash(signature: string, crash: Crash): Promise<void> {
    const known = this.crashes.get(signature);
    if (known !== undefined) {
      known.count += 1;
      return;
    }
    const found = caseOf(this.#corpus, this.seed, crash.run);
    this.#note(signature, crash, found.bytes);
    if (!crash.text.includes(" at ")) return;
    const folder = mkdtempSync(path.join(tmpdir(), "tc-lint-fuzz-"));
    const smaller = await minimize(found.bytes, async (bytes) => {
      const { error } = await runCase({ ...found, bytes }, folder);
      return error !== undefined && signatureOf(error) === signature;
    });
    rmSync(folder, { recursive: true, force: true });
    this.#save(crash, smaller);
  }

  #note(signature: string, crash: Crash, bytes: Uint8Array): void {
    this.crashes.set(signature, crash);
    console.log(`seed ${this.seed}, run ${crash.run}, ${crash.mode}: ${crash.text.slice(0, 700)}`);
    this.#save(crash, bytes);
  }

  #save({ run, mode }: Crash, bytes: Uint8Array): void {
    mkdirSync(this.#keep, { recursive: true });
    const file = path.join(this.#keep, `${mode}-${this.seed}-${run}.txt`);
    writeFileSync(file, `${Buffer.from(bytes).toString("base64")}\n`);
  }

  summary(minutes: number): string[] {
    const count = (counts: ReadonlyMap<string, number>) =>
      [...counts]
        .sort((a, b) => b[1] - a[1])
        .map(([name, number]) => `${number.toLocaleString("en-US")} ${name}`)
        .join(", ");
    const slowest = this.#slowest;
    const largest = this.#largest;
    return [
      `${this.#runs.toLocaleString("en-US")} runs over damaged copies of ${this.#corpus.size} models in ${minutes.toFixed(0)} minutes, seed ${this.seed}: ${this.crashes.size} kinds of crash.`,
      `The slowest took ${slowest?.seconds.toFixed(2)} s (run ${slowest?.run}, ${slowest?.mode}), the largest ${((largest?.grownBytes ?? 0) / 1e6).toFixed(0)} MB beyond the model (run ${largest?.run}, ${largest?.mode}).`,
      `By mode: ${count(this.#modes)}.`,
      `Outcomes: ${count(this.#codes)}.`,
      ...[...this.crashes].map(
        ([signature, { run, mode, count: times }]) => `- ${times} × run ${run}, ${mode}: ${signature}`,
      ),
    ];
  }

  page(minutes: number): string[] {
    const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
    const command = `npm run fuzz -- ${process.argv.slice(2).join(" ")}`;
    return [
      "# Damaged models",
      "",
      `\`${command}\` at ${commit}.`,
      "",
      ...this.summary(minutes).flatMap((line) => [line, ""]),
    ];
  }
}

if (process.send === undefined) await main();
else serveBatches();
