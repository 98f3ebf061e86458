/**
 * @file Runs kernels on the GPU and checks their results: every case of test/gpu/cases, bundled by `npm run pack:gpu`.
 *
 *     node dist/gpu/run.js [--twice | --check | --time | --ncu] [--jobs N] [--timeout SECONDS] [--list] [FILTER…]
 *
 * A filter is a part of `family/case`. --check, which is what happens anyway, compares with the case's reference; --time also says what each
 * group of launches takes by replays of a graph, with its rates; --ncu what Nsight Compute (--ncu-path) counts of one replay, and wants a filter. With --twice, each case runs a second time over memory filled with other bytes,
 * and has to read the same results. Each family runs in a process of its own, which is replaced where a case faults,
 * hangs or crashes. Results are also written to $OUT/kernels.json. Exit code 1 where a case fails.
 */
import { fork, spawnSync } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { CudaError } from "../../cuda-runtime/driver/errors.ts";
import { HarnessHost, type KernelCase } from "../../cuda-runtime/session/harness.ts";
import { openDevice } from "../../cuda-runtime/session/open.ts";
import type { ReadyStep } from "../../cuda-runtime/session/steps.ts";
import { builtFamilies } from "../../cuda-runtime/session/store.ts";
import { checkCase, groupOf, profileOnce } from "../../src/gpu/case/run.ts";
import { launchesOf } from "../../src/gpu/counters/csv.ts";
import { mixMetrics, stepMetrics } from "../../src/gpu/counters/metrics.ts";
import { ncuArguments } from "../../src/gpu/counters/ncu.ts";
import { architectureOf } from "../../src/hardware/architectures.ts";
import { significant } from "../../src/ir/format.ts";
import { lostContext, Watch } from "./supervise.ts";

const here = path.dirname(fileURLToPath(import.meta.url));
const casesFolder = path.join(here, "cases");
const kernels = new URL("../cuda/", import.meta.url);
/** Families whose kernels are built where they are named. */
const onDemand: ReadonlySet<string> = new Set(["ladder"]);

interface CaseResult {
  readonly name: string;
  readonly ok: boolean;
  readonly message: string;
  readonly seconds: number;
}

type FromChild =
  | { readonly kind: "starting"; readonly name: string; readonly index: number }
  | ({ readonly kind: "done"; readonly index: number } & CaseResult);

const { values: options, positionals: filters } = parseArgs({
  allowPositionals: true,
  options: {
    twice: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
    time: { type: "boolean", default: false },
    ncu: { type: "boolean", default: false },
    "ncu-path": { type: "string", default: "ncu" },
    profiled: { type: "boolean", default: false },
    list: { type: "boolean", default: false },
    jobs: { type: "string" },
    timeout: { type: "string", default: "120" },
    device: { type: "string", default: "0" },
    family: { type: "string" },
    from: { type: "string", default: "0" },
  },
});

async function runParent(): Promise<number> {
  const families = readdirSync(casesFolder)
    .filter((file) => file.endsWith(".js"))
    .map((file) => path.basename(file, ".js"))
    .filter((family) => !onDemand.has(family) || builtFamilies(kernels).includes(family))
    .sort();
  if (options.list) {
    for (const family of families)
      for (const { name } of await casesOf(family)) console.log(`${family}/${name}`);
    return 0;
  }
  if (options.ncu) {
    let failed = 0;
    for (const family of families) {
      const names = (await casesOf(family)).map(({ name }) => `${family}/${name}`);
      if (names.some((name) => filters.some((part) => name.includes(part))))
        failed += await runCounted(family);
    }
    return failed;
  }
  const results: CaseResult[] = [];
  const queue = [...families];
  const worker = async () => {
    for (let family = queue.shift(); family !== undefined; family = queue.shift())
      results.push(...(await runFamily(family)));
  };
  const jobs = options.jobs === undefined ? Math.min(8, availableParallelism()) : Number(options.jobs);
  await Promise.all(Array.from({ length: jobs }, worker));
  return report(results);
}

function report(results: readonly CaseResult[]): number {
  const failed = results.filter(({ ok }) => !ok);
  const out = process.env["OUT"];
  if (out !== undefined)
    writeFileSync(path.join(out, "kernels.json"), `${JSON.stringify(results, null, 1)}\n`);
  for (const { name } of failed) console.log(`failed: ${name}`);
  console.log(`${results.length - failed.length} passed, ${failed.length} failed`);
  return failed.length > 0 || results.length === 0 ? 1 : 0;
}

/** All of a family's cases, in as many processes as it takes. */
async function runFamily(family: string): Promise<CaseResult[]> {
  const results: CaseResult[] = [];
  for (let from: number | undefined = 0; from !== undefined; ) from = await runFrom(family, from, results);
  return results;
}

/** Runs the cases from an index on; returns where another process has to go on, or undefined. */
function runFrom(family: string, from: number, results: CaseResult[]): Promise<number | undefined> {
  const args = ["--family", family, "--from", String(from), "--device", options.device];
  const child = fork(fileURLToPath(import.meta.url), [
    ...args,
    ...(options.twice ? ["--twice"] : []),
    ...(options.time ? ["--time"] : []),
    ...filters,
  ]);
  let current: { name: string; index: number } | undefined;
  let next = from;
  const timer = new Watch(child, Number(options.timeout));
  const add = (result: CaseResult) => {
    results.push(result);
    const reason = result.ok ? "" : `\n     ${result.message.split("\n").join("\n     ")}`;
    console.log(`${result.ok ? "PASS" : "FAIL"} ${result.name} (${result.seconds.toFixed(2)} s)${reason}`);
  };
  child.on("message", (message: FromChild) => {
    timer.restart();
    if (message.kind === "starting") {
      current = message;
      return;
    }
    current = undefined;
    next = message.index + 1;
    add(message);
  });
  return new Promise((resolve) => {
    child.once("exit", (code, signal) => {
      timer.stop();
      const how = timer.isOver
        ? `hangs: stopped after ${options.timeout} s`
        : `ended by ${signal ?? `code ${code}`}`;
      if (current !== undefined) {
        add({ name: current.name, ok: false, message: `the process ${how}`, seconds: 0 });
        resolve(current.index + 1);
        return;
      }
      if (code !== 0 && code !== lostContext)
        add({ name: `${family}/*`, ok: false, message: `the process ${how}`, seconds: 0 });
      resolve(code === lostContext ? next : undefined);
    });
  });
}

async function casesOf(family: string): Promise<readonly KernelCase[]> {
  const module: { readonly cases: readonly KernelCase[] } = await import(
    pathToFileURL(path.join(casesFolder, `${family}.js`)).href
  );
  return module.cases;
}

async function runChild(family: string, from: number): Promise<void> {
  const cases = await casesOf(family);
  const wanted = cases
    .map((each, index) => ({ each, index, name: `${family}/${each.name}` }))
    .filter(
      ({ index, name }) =>
        index >= from && (filters.length === 0 || filters.some((part) => name.includes(part))),
    );
  if (wanted.length === 0) process.exit(0);
  const host = await HarnessHost.open({ kernels, device: Number(options.device) });
  for (const { each, index, name } of wanted) {
    await send({ kind: "starting", name, index });
    const start = performance.now();
    const error = await runCase(host, each).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    const seconds = (performance.now() - start) / 1000;
    await send({ kind: "done", index, name, ok: error === undefined, message: textOf(error), seconds });
    // After a fault the context answers every call with the same error.
    if (error instanceof CudaError) process.exit(lostContext);
  }
  process.exit(0);
}

async function runCase(host: HarnessHost, each: KernelCase): Promise<void> {
  await checkCase(host, each, options.twice, (steps) => {
    if (options.time) console.log(`TIME ${each.name}: ${timeText(host, steps)}`);
    if (options.profiled) profileOnce(host, steps);
  });
}

/** `12.3 µs, 650 TFLOP/s, 210 GB/s: conv_f16_w64x32`; sums over the launches that a case makes at once. */
function timeText(host: HarnessHost, steps: readonly ReadyStep[]): string {
  const { times, flops, bytes, kernels: entries } = groupOf(host, steps, true);
  const median = times?.median ?? Number.NaN;
  const rate = flops > 0 ? `${significant(flops / median / 1e6)} TFLOP/s, ` : "";
  return `${median.toFixed(2)} µs, ${rate}${significant(bytes / median / 1e3)} GB/s: ${entries.join(", ")}`;
}

/** Below Nsight Compute, one family of cases; prints what it counted of each launch. */
async function runCounted(family: string): Promise<number> {
  using context = await openDevice(Number(options.device));
  const mix = mixMetrics(architectureOf(context.device.computeCapability));
  const own = [fileURLToPath(import.meta.url), "--family", family, "--profiled", "--device", options.device];
  const args = [
    ...ncuArguments([...Object.values(stepMetrics), ...Object.values(mix)]),
    ...[process.execPath, ...own, ...filters],
  ];
  const { stdout, stderr, error } = spawnSync(options["ncu-path"], args, {
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  if (error !== undefined) throw error;
  const launches = launchesOf(stdout);
  for (const { kernel, values } of launches) {
    console.log(kernel);
    for (const [name, value] of values) console.log(`  ${name} ${significant(value)}`);
  }
  if (launches.length === 0) console.error(`ncu counted nothing:\n${stdout}\n${stderr}`);
  return launches.length === 0 ? 1 : 0;
}

function textOf(error: unknown): string {
  if (error === undefined) return "";
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

function send(message: FromChild): Promise<void> {
  return new Promise((resolve) => {
    // Below a profiler there is nobody to tell but who reads.
    if (process.send === undefined) {
      if (message.kind === "done" && !message.ok) console.error(`FAIL ${message.name}: ${message.message}`);
      resolve();
    } else process.send(message, () => resolve());
  });
}

// Last, so that the classes above are there.
if (options.family !== undefined) await runChild(options.family, Number(options.from));
else process.exitCode = await runParent();
