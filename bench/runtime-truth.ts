/**
 * @file What the planner predicts beside what whole models took on a GPU: bench/results/truth-runtime.md.
 *
 *     node scripts/run.mjs bench/runtime-truth.ts ZOO
 *
 * ZOO holds the exports that bench/measurements/h200-runtime-models.jsonl names: `tc-lint bench --precision fp16 --no-fix` of each, one
 * H200. h200-runtime-steps.jsonl has their launches, each kind once, timed by itself.
 */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { planFile } from "../src/api/runs.ts";
import { medianOf } from "../src/gpu/prove/judge.ts";
import { findGpu } from "../src/hardware/gpus.ts";

interface Row {
  readonly model: string;
  readonly launches: number;
  readonly microseconds: number;
}

const [zoo] = process.argv.slice(2);
const gpu = findGpu("h200");
if (zoo === undefined || gpu === undefined) throw new Error("the folder of the zoo is needed");
const lines = readFileSync("bench/measurements/h200-runtime-models.jsonl", "utf8").trim().split("\n");
const rows = lines.map((line): Row => JSON.parse(line));

const judged: { readonly row: Row; readonly predicted: number }[] = [];
for (const row of rows) {
  const choice = { precision: "fp16", fix: false, dims: {}, config: { kind: "none" } } as const;
  const limits = { timeoutSeconds: undefined, memoryBytes: undefined, onNotice: () => {} };
  const plan = await planFile(path.join(zoo, `${row.model}.onnx`), gpu, choice, limits);
  judged.push({ row, predicted: plan.predictedMicroseconds });
}
const errors = judged.map(({ row, predicted }) => Math.abs(predicted / row.microseconds - 1));
const sorted = [...errors].sort((a, b) => a - b);
const ninth = sorted[Math.ceil(0.9 * sorted.length) - 1] ?? Number.NaN;
const percent = (share: number) => `${(100 * share).toFixed(1)} %`;
writeFileSync(
  "bench/results/truth-runtime.md",
  [
    "# The planner's account beside whole runs",
    "",
    "`node scripts/run.mjs bench/runtime-truth.ts ZOO`: exports as they are, in FP16, at the sizes that `bench` takes by itself; microseconds of one run",
    "from a cold L2 on one H200. One constant, what of a launch's bytes nothing hides, was fitted to whole runs: 1.06 on one half of these",
    "models, 0.96 on the other. Prices of reductions, pools, GroupNorm and recurrent sequences come from their launches timed by themselves.",
    "",
    `${judged.length} models: median error ${percent(medianOf(errors))}, nine of ten within ${percent(ninth)}, predicted to measured ${medianOf(judged.map(({ row, predicted }) => predicted / row.microseconds)).toFixed(3)} in the median.`,
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
