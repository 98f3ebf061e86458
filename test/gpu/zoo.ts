/**
 * @file The zoo on the GPU against ONNX Runtime on the CPU, or, with --plan-only, planned here.
 *
 *     node dist/gpu/zoo.js --zoo FOLDER [--precision fp32,tf32,fp16,bf16] [--models a,b] [--against FOLDER]
 *         [--weights float16] [--manifest FILE] [--cache FOLDER] [--jobs 1]
 *     node scripts/run.mjs test/gpu/zoo.ts --zoo ../shared/zoo --plan-only
 *
 * FOLDER holds NAME.onnx with its weights (not needed for plans). --against: the models that give the reference, where
 * those in FOLDER are rewritten ones; --weights float16: rewritten to half, so that every precision has half's budget.
 * --cache keeps references. --jobs: models at once; they are timed one after another, while others load and plan. Rows are also written to $OUT/zoo.json. Exit code 1
 * where a model is outside its budget, or does not run.
 */
import { existsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Precision } from "../../cuda-runtime/plan/precision.ts";
import { HarnessHost } from "../../cuda-runtime/session/harness.ts";
import { lostContext, supervise, tell } from "./supervise.ts";
import { listModels, openZooModel, sizesFor } from "./zoo-models.ts";
import { Reference } from "./zoo-reference.ts";
import { planText, resultText, zooSummary } from "./zoo-report.ts";
import { failed, planZooModel, runZooModel, type ZooResult } from "./zoo-run.ts";

const script = fileURLToPath(import.meta.url);
const kernels = new URL("../cuda/", import.meta.url);
const known: readonly Precision[] = ["model", "fp32", "tf32", "fp16", "bf16"];

const { values: options } = parseArgs({
  options: {
    zoo: { type: "string", default: "../shared/zoo" },
    against: { type: "string" },
    manifest: { type: "string" },
    cache: { type: "string" },
    precision: { type: "string", default: "fp32,tf32,fp16,bf16" },
    weights: { type: "string", default: "float32" },
    jobs: { type: "string", default: "1" },
    lock: { type: "string" },
    models: { type: "string" },
    "plan-only": { type: "boolean", default: false },
    timeout: { type: "string", default: "300" },
    verbose: { type: "boolean", default: false },
    items: { type: "string" },
  },
});
const precisions = options.precision.split(",").map((name) => {
  const found = known.find((precision) => precision === name);
  if (found === undefined) throw new Error(`--precision ${name}: there are ${known.join(", ")}`);
  return found;
});
const weights = (["float32", "float16"] as const).find((name) => name === options.weights);
if (weights === undefined) throw new Error(`--weights ${options.weights}: there are float32, float16`);
const manifest = options.manifest ?? path.join(options.against ?? options.zoo, "manifest.json");

if (options.items !== undefined) await runChild(options.items.split(","));
else process.exitCode = options["plan-only"] ? planAll() : await runAll();

function names(): string[] {
  return options.models?.split(",") ?? listModels(options.zoo);
}

function planAll(): number {
  const results = names().flatMap((name) => {
    using model = openZooModel(options.zoo, name);
    const sizes = sizesFor(model, name, manifest);
    return precisions.map((precision) => {
      const [result] = planZooModel({ name, model, sizes, precision });
      console.log(planText(result, options.verbose));
      return result;
    });
  });
  return finish(results);
}

async function runAll(): Promise<number> {
  const results: ZooResult[] = [];
  await supervise<readonly ZooResult[]>({
    script,
    args: childArguments(),
    items: names(),
    batch: 1,
    jobs: Number(options.jobs),
    seconds: Number(options.timeout),
    onResult: (_, own) => {
      results.push(...own);
      for (const result of own) console.log(resultText(result));
    },
    onLost: (name, how) => {
      const result = failed(name, precisions[0] ?? "fp32", new Error(how));
      results.push(result);
      console.log(resultText(result));
    },
  });
  return finish(results);
}

function childArguments(): string[] {
  const passed = {
    zoo: options.zoo,
    against: options.against,
    cache: options.cache,
    manifest,
    weights: options.weights,
    lock: options.jobs === "1" ? undefined : path.join(tmpdir(), `tc-lint-zoo-${process.pid}.lock`),
  };
  const flags = Object.entries(passed).flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, value],
  );
  return [...flags, "--precision", options.precision];
}

function finish(results: readonly ZooResult[]): number {
  const out = process.env["OUT"];
  if (out !== undefined) writeFileSync(path.join(out, "zoo.json"), `${JSON.stringify(results, null, 1)}\n`);
  console.log(zooSummary(results));
  return results.every(({ status }) => status === "inside" || status === "planned") ? 0 : 1;
}

async function runChild(items: readonly string[]): Promise<void> {
  const host = await HarnessHost.open({ kernels });
  for (const name of items) {
    await tell({ kind: "starting", item: name });
    const results = await runModel(name, host);
    await tell({ kind: "done", item: name, result: results });
    if (results.some(({ status }) => status === "failed")) process.exit(lostContext);
  }
  process.exit(0);
}

async function runModel(name: string, host: HarnessHost): Promise<ZooResult[]> {
  const results: ZooResult[] = [];
  using model = openZooModel(options.zoo, name);
  const folder = options.against ?? options.zoo;
  using original = openZooModel(existsSync(path.join(folder, `${name}.onnx`)) ? folder : options.zoo, name);
  const sizes = sizesFor(original, name, manifest);
  const reference = new Reference({ model: original, name, sizes, cache: options.cache, weights });
  for (const precision of precisions) {
    try {
      results.push(await runZooModel({ name, model, sizes, precision, lock: options.lock }, reference, host));
    } catch (error) {
      results.push(failed(name, precision, error));
      // A lost context fails everything after it.
      break;
    }
  }
  return results;
}
