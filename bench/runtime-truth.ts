/**
 * @file What the planner predicts beside what whole models took on a GPU: bench/results/truth-runtime.md.
 *
 *     node scripts/run.mjs bench/runtime-truth.ts ZOO
 *
 * ZOO holds the exports that bench/measurements names: in FP16 `dist/gpu/in-run.js --last` of each, on an H100 and on an H200; as they are stored, in FP32, the same
 * with `--precision model`, on an H200. h100-model-steps.jsonl has the launches of 20 of them, within their runs and by themselves.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { planFile } from "../src/api/runs.ts";
import { medianOf } from "../src/gpu/prove/judge.ts";
import { findGpu } from "../src/hardware/gpus.ts";
import { inOrderMicroseconds } from "../src/report/steps-text.ts";
import { errorText } from "./prediction-errors.ts";

interface Row {
  readonly model: string;
  readonly microseconds: number;
}

interface Judged extends Row {
  readonly launches: number;
  readonly predicted: number;
}

/** Runs of the exports in a precision on a GPU. */
interface Runs {
  readonly file: string;
  readonly gpu: "h100" | "h200";
  readonly precision: "fp16" | "fp32";
  /** Measured before branches ran beside each other (ADR 56). */
  readonly isInOrder?: boolean;
}

const runs = {
  h100: { file: "h100-runtime-models.jsonl", gpu: "h100", precision: "fp16", isInOrder: true },
  half: { file: "h200-runtime-runs.jsonl", gpu: "h200", precision: "fp16" },
  stored: { file: "h200-runtime-stored.jsonl", gpu: "h200", precision: "fp32" },
} as const satisfies Record<string, Runs>;

const result = "bench/results/truth-runtime.md";
const [zoo] = process.argv.slice(2);
if (zoo === undefined) fail("the folder of the exports that were measured is needed");
const [onH100, half, stored] = [await judged(runs.h100), await judged(runs.half), await judged(runs.stored)];

writeFileSync(
  result,
  [
    "# The planner's account beside whole runs",
    "",
    "`node scripts/run.mjs bench/runtime-truth.ts ZOO`: exports at the sizes that `bench` takes by itself; microseconds of one run from a cold L2.",
    "What a run is longer by than its launches is fitted to 36 runs of the first table and to 66 of batch 8 and 32; what is between launches that overlap, to 49 FP16 runs on an H200 that are not kept (all but tcn, seg_unet and c3d, whose launches are priced a fifth off)",
    "(`node scripts/run.mjs bench/fit-runs.ts`); what branches beside each other leave to runs of 19 of these models on an H200 (bench/results/lanes.md). Prices of launches are fitted to launches by themselves. The ranges that `src/gpu/whole-runs.ts` gives whole runs",
    "are of these tables: they are not judged by others.",
    "",
    ...section(
      "FP16, one H100, 2026-11-28, before blocks were spread (ADR 54), branches beside each other (ADR 56), what comes before the wait (ADR 57) and gathers that are views (dlrm: 89 launches, predicted 36); predicted in order",
      onH100,
    ),
    ...section("FP16, one H200, 2026-11-30", half),
    ...section("As stored, in FP32, one H200, 2026-11-30", stored),
    ...leftSection(),
  ].join("\n"),
);
console.log(`${result} written`);

async function judged({ file, gpu: id, precision, isInOrder = false }: Runs): Promise<Judged[]> {
  const measured = `bench/measurements/${file}`;
  const gpu = findGpu(id);
  if (gpu === undefined) throw new Error(`no row of GPUs is ${id}'s`);
  if (!existsSync(measured)) fail(`${measured} is not here: it has what is compared with`);
  const lines = readFileSync(measured, "utf8").trim().split("\n");
  const rows = lines.map((line): Row => JSON.parse(line)).filter(({ model }) => model !== undefined);
  const missing = rows.map(fileOf).filter((each) => !existsSync(each));
  if (missing.length > 0)
    fail(`${missing.length} of ${rows.length} models of ${measured} are not there: ${missing.join(", ")}`);
  console.log(`${measured}: ${rows.length} models measured; planning each from ${zoo}`);
  const choice = { precision, fix: false, dims: {}, config: { kind: "none" } } as const;
  const limits = { timeoutSeconds: undefined, memoryBytes: undefined, onNotice: () => {} };
  const all: Judged[] = [];
  for (const row of rows) {
    const { predictedMicroseconds: planned, steps } = await planFile(fileOf(row), gpu, choice, limits);
    const { model, microseconds } = row;
    const inOrder = steps.reduce((sum, step) => sum + inOrderMicroseconds(step), 0);
    all.push({ model, microseconds, launches: steps.length, predicted: isInOrder ? inOrder : planned });
  }
  return all;
}

function fileOf({ model }: Row): string {
  return path.join(zoo ?? "", `${model}.onnx`);
}

function section(title: string, rows: readonly Judged[]): string[] {
  const ratios = rows.map(({ predicted, microseconds }) => predicted / microseconds);
  const table = rows.map(({ model, launches, predicted, microseconds }) =>
    cells([
      model,
      `${launches}`,
      predicted.toFixed(1),
      microseconds.toFixed(1),
      (predicted / microseconds).toFixed(3),
    ]),
  );
  return [
    `## ${title}`,
    "",
    summaryOf(ratios),
    "",
    "| model | launches | predicted | measured | ratio |",
    "|---|---:|---:|---:|---:|",
    ...table,
    "",
  ];
}

/** What FP16 leaves of the files as they are stored, both on the H200. */
function leftSection(): string[] {
  const ratios: number[] = [];
  const table = stored.flatMap((before) => {
    const after = half.find(({ model }) => model === before.model);
    if (after === undefined) return [];
    const [predicted, measured] = [
      after.predicted / before.predicted,
      after.microseconds / before.microseconds,
    ];
    ratios.push(predicted / measured);
    return cells([
      before.model,
      predicted.toFixed(3),
      measured.toFixed(3),
      (predicted / measured).toFixed(3),
    ]);
  });
  return [
    "## What FP16 leaves of FP32, one H200",
    "",
    summaryOf(ratios),
    "",
    "| model | predicted | measured | ratio |",
    "|---|---:|---:|---:|",
    ...table,
    "",
  ];
}

function summaryOf(ratios: readonly number[]): string {
  const logs = ratios.map((ratio) => -Math.log(ratio)).sort((a, b) => a - b);
  const [low, high] = [at(logs, 0.05), at(logs, 0.95)].map((log) => log.toFixed(2));
  const median = medianOf([...ratios]).toFixed(3);
  return `${ratios.length} models: ${errorText(ratios)}, predicted to measured ${median} in the median; nine of ten ln(measured / predicted) from ${low} to ${high}.`;
}

function at(sorted: readonly number[], share: number): number {
  const place = share * (sorted.length - 1);
  const [below = Number.NaN, above = below] = sorted.slice(Math.floor(place), Math.floor(place) + 2);
  return below + (place - Math.floor(place)) * (above - below);
}

function cells(each: readonly string[]): string {
  return `| ${each.join(" | ")} |`;
}

function fail(message: string): never {
  console.error(`runtime-truth: ${message}`);
  process.exit(2);
}
