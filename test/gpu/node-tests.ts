/**
 * @file ONNX's operator tests on the GPU, or, with --plan-only, planned here.
 *
 *     node dist/gpu/node-tests.js --tests FOLDER [--precision fp32,fp16] [--twice] [--staged] [--only REGEX] [--jobs N] [--verbose]
 *     node scripts/run.mjs test/gpu/node-tests.ts --tests FOLDER --plan-only
 *
 * FOLDER holds one folder a test. --staged leaves what elements of inputs decide to the run, as for a model whose GPU computes them. Everything is also written to $OUT/node-tests-PRECISION.json. Exit code 1 where a
 * result is wrong, a kernel faults, or planning ends in a bug.
 */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Precision } from "../../cuda-runtime/plan/precision.ts";
import { HarnessHost } from "../../cuda-runtime/session/harness.ts";
import { listTests } from "./node-tests-data.ts";
import { type Results, reportText, summaryOf } from "./node-tests-report.ts";
import { runTest, type TestResult } from "./node-tests-run.ts";
import { lostContext, supervise, tell } from "./supervise.ts";

const script = fileURLToPath(import.meta.url);
const kernels = new URL("../cuda/", import.meta.url);
const precisions: readonly Precision[] = ["model", "fp32", "tf32", "fp16", "bf16"];

const { values: options } = parseArgs({
  options: {
    tests: { type: "string", default: "node-tests" },
    precision: { type: "string", default: "fp32" },
    "plan-only": { type: "boolean", default: false },
    twice: { type: "boolean", default: false },
    stepwise: { type: "boolean", default: false },
    staged: { type: "boolean", default: false },
    only: { type: "string", default: "" },
    batch: { type: "string", default: "100" },
    jobs: { type: "string", default: "4" },
    timeout: { type: "string", default: "60" },
    verbose: { type: "boolean", default: false },
    items: { type: "string" },
  },
});

if (options.items !== undefined) await runChild(options.items.split(","));
else process.exitCode = await runParent();

function precisionsOf(list: string): Precision[] {
  return list.split(",").map((name) => {
    const found = precisions.find((precision) => precision === name);
    if (found === undefined) throw new Error(`--precision ${name}: there are ${precisions.join(", ")}`);
    return found;
  });
}

async function runParent(): Promise<number> {
  const only = new RegExp(options.only);
  const names = listTests(options.tests).filter((name) => only.test(name));
  let code = names.length === 0 ? 1 : 0;
  for (const precision of precisionsOf(options.precision)) {
    const results = options["plan-only"] ? planAll(names, precision) : await runAll(names, precision);
    process.stdout.write(reportText(precision, results, options.verbose));
    const out = process.env["OUT"];
    if (out !== undefined)
      writeFileSync(path.join(out, `node-tests-${precision}.json`), jsonOf(precision, results));
    const { wrong, fault, bug } = summaryOf(results);
    if (wrong + fault + bug > 0) code = 1;
  }
  return code;
}

function jsonOf(precision: Precision, results: Results): string {
  const tests = [...results].map(([name, result]) => ({ name, ...result }));
  return `${JSON.stringify({ precision, summary: summaryOf(results), tests }, null, 1)}\n`;
}

function planAll(names: readonly string[], precision: Precision): Results {
  const run = {
    folder: options.tests,
    precision,
    host: undefined,
    twice: false,
    stepwise: false,
    staged: options.staged,
  };
  return new Map(names.map((name) => [name, runTest(name, run)]));
}

async function runAll(names: readonly string[], precision: Precision): Promise<Results> {
  const results = new Map<string, TestResult>();
  await superviseTests(names, precision, options.stepwise, results);
  // A fault says little: once more, one step after another, which names the step.
  const faults = [...results].filter(([, { status }]) => status === "fault").map(([name]) => name);
  const again = new Map<string, TestResult>();
  if (!options.stepwise) await superviseTests(faults, precision, true, again);
  for (const [name, result] of again) {
    const before = results.get(name);
    if (result.status === "fault") results.set(name, result);
    else if (before !== undefined) {
      results.set(name, {
        ...before,
        reason: `${before.reason}; step by step: ${result.status} ${result.reason}`,
      });
    }
  }
  return new Map(names.flatMap((name) => (results.has(name) ? [[name, lookUp(results, name)]] : [])));
}

function lookUp(results: Results, name: string): TestResult {
  const result = results.get(name);
  if (result === undefined) throw new Error(`tc-lint bug: ${name} has no result`);
  return result;
}

function superviseTests(
  names: readonly string[],
  precision: Precision,
  stepwise: boolean,
  results: Map<string, TestResult>,
): Promise<void> {
  const flags = [
    ...(options.twice ? ["--twice"] : []),
    ...(stepwise ? ["--stepwise"] : []),
    ...(options.staged ? ["--staged"] : []),
  ];
  return supervise<TestResult>({
    script,
    args: ["--tests", options.tests, "--precision", precision, ...flags],
    items: names,
    batch: Number(options.batch),
    jobs: Number(options.jobs),
    seconds: Number(options.timeout),
    onResult: (name, result) => results.set(name, result),
    onLost: (name, how) => results.set(name, { ...lost, reason: how }),
  });
}

const lost: TestResult = {
  status: "fault",
  reason: "",
  operator: "",
  known: [],
  maximumError: 0,
  largest: 0,
  steps: {},
  milliseconds: 0,
};

async function runChild(names: readonly string[]): Promise<void> {
  const host = await HarnessHost.open({ kernels });
  const [precision = "fp32"] = precisionsOf(options.precision);
  const { twice, stepwise, staged } = options;
  for (const name of names) {
    await tell<TestResult>({ kind: "starting", item: name });
    const result = runTest(name, { folder: options.tests, precision, host, twice, stepwise, staged });
    await tell({ kind: "done", item: name, result });
    // After a fault the context answers every call with the same error.
    if (result.status === "fault") process.exit(lostContext);
  }
  process.exit(0);
}
