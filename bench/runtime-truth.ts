/**
 * @file What the planner predicts beside what whole models took on a GPU: bench/results/truth-runtime.md.
 *
 *     node scripts/run.mjs bench/runtime-truth.ts ZOO
 *
 * ZOO holds the exports that bench/measurements/h100-runtime-models.jsonl names: `dist/gpu/in-run.js --last` of each, one H100. h100-model-steps.jsonl has
 * the launches of 20 of them, within their runs and by themselves.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { planFile } from "../src/api/runs.ts";
import { medianOf } from "../src/gpu/prove/judge.ts";
import { findGpu } from "../src/hardware/gpus.ts";
import { errorText } from "./prediction-errors.ts";

interface Row {
  readonly model: string;
  readonly launches: number;
  readonly microseconds: number;
}

const measured = "bench/measurements/h100-runtime-models.jsonl";
const result = "bench/results/truth-runtime.md";
const [zoo] = process.argv.slice(2);
const gpu = findGpu("h100");
if (gpu === undefined) throw new Error("no row of GPUs is h100's");
if (zoo === undefined) fail(`the folder of the exports that ${measured} names is needed`);
if (!existsSync(measured)) fail(`${measured} is not here: it has what is compared with`);
const rows = readFileSync(measured, "utf8")
  .trim()
  .split("\n")
  .map((line): Row => JSON.parse(line));
const fileOf = ({ model }: Row) => path.join(zoo, `${model}.onnx`);
const missing = rows.map(fileOf).filter((file) => !existsSync(file));
if (missing.length > 0)
  fail(`${missing.length} of ${rows.length} models of ${measured} are not there: ${missing.join(", ")}`);
console.log(`${measured}: ${rows.length} models measured; planning each from ${zoo}`);

const judged: { readonly row: Row; readonly predicted: number }[] = [];
for (const row of rows) {
  const choice = { precision: "fp16", fix: false, dims: {}, config: { kind: "none" } } as const;
  const limits = { timeoutSeconds: undefined, memoryBytes: undefined, onNotice: () => {} };
  const plan = await planFile(fileOf(row), gpu, choice, limits);
  judged.push({ row, predicted: plan.predictedMicroseconds });
}
const ratios = judged.map(({ row, predicted }) => predicted / row.microseconds);
const summary = `${judged.length} models: ${errorText(ratios)}, predicted to measured ${medianOf(ratios).toFixed(3)} in the median.`;
writeFileSync(
  result,
  [
    "# The planner's account beside whole runs",
    "",
    "`node scripts/run.mjs bench/runtime-truth.ts ZOO`: exports as they are, in FP16, at the sizes that `bench` takes by itself; microseconds of one run",
    "from a cold L2 on one H100, 2026-11-28. What a run is longer by than its launches is fitted to 36 of these and to 66 of batch 8 and 32",
    "(`node scripts/run.mjs bench/fit-runs.ts`). Prices of launches are fitted to launches by themselves.",
    "",
    summary,
    "",
    "| model | launches | predicted | measured | ratio |",
    "|---|---:|---:|---:|---:|",
    ...judged.map(
      ({ row, predicted }) =>
        `| ${[row.model, row.launches, predicted.toFixed(1), row.microseconds.toFixed(1), (predicted / row.microseconds).toFixed(3)].join(" | ")} |`,
    ),
    "",
  ].join("\n"),
);
console.log(summary);
console.log(`${result} written`);

function fail(message: string): never {
  console.error(`runtime-truth: ${message}`);
  process.exit(2);
}
