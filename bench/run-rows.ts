/**
 * @file What whole runs of several batches took, as bench/measurements keeps it: h100-runtime-models.jsonl, h100-runtime-batches.jsonl and
 * h100-batch-launches.jsonl, of what dist/gpu/in-run.js --last wrote of each batch (`$OUT/in-run.jsonl`).
 *
 *     node scripts/run.mjs bench/run-rows.ts --from FOLDER [--earlier FOLDER]
 *
 * FOLDER holds 1.jsonl (exports as they are), 8.jsonl and 32.jsonl. Exports that fix a batch were bound on the GPU host, as users bind them; others were
 * given it by --dim batch=N:
 *
 *     sh .gpu-host/run.sh node dist/bin/tc-lint.js --fix-only --no-verify --batch 8 --fix-output /tmp/b8/NAME.onnx /tmp/zoo/NAME.onnx
 *
 * --earlier: the same of plans before, of which launches are kept that nothing chooses any more.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";

interface LaunchRow {
  readonly kind: "built" | "ptx" | "clear";
  readonly kernel: string;
  readonly detail: string;
  readonly own: number;
  readonly alone: number;
  readonly inRun: number;
  readonly bytes: number;
}
interface Run {
  readonly file: string;
  readonly cold: number;
  readonly warm: number;
  readonly own: number;
  readonly steps: readonly LaunchRow[];
}

const { values: options } = parseArgs({ options: { from: { type: "string" }, earlier: { type: "string" } } });
const { from, earlier } = options;
if (from === undefined) throw new Error("--from FOLDER is needed");

const batches = [1, 8, 32] as const;
const isTwin = ({ file }: Run) => file.endsWith("_dynamo.onnx");
const nameOf = ({ file }: Run) => path.basename(file, ".onnx");
const rounded = (value: number, digits = 1) => Number(value.toFixed(digits));
/** Less than either says little of a kernel. */
const leastBytes = 1e6;
const leastMicroseconds = 4;

const runs = new Map(batches.map((batch) => [batch, runsOf(from, batch)]));
write("h100-runtime-models.jsonl", undefined, modelRows(runs.get(1) ?? []));
write(
  "h100-runtime-batches.jsonl",
  "Whole models in FP16 on one H100, 2026-11-28, from a cold L2: dist/gpu/in-run.js --last of zoo exports, and of those that tc-lint --fix --batch binds (its repairs in them) at 8 and 32. launches: 1 for a chain, microseconds as predicted by itself then, as part of the run, bytes that are moved. Microseconds.",
  eachRun((run, batch) => [batchRow(run, batch)]),
);
write(
  "h100-batch-launches.jsonl",
  "Launches of those runs of h100-runtime-batches.jsonl that move 1 MB or take 4 us: what each takes again and again, its operands where its last run left them. own, microseconds; bytes. Behind them what earlier plans had, and nothing chooses any more.",
  [...eachRun(launchRows), ...(earlier === undefined ? [] : earlierRows(earlier))],
);

function runsOf(folder: string, batch: number): Run[] {
  const file = path.join(folder, `${batch}.jsonl`);
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line): Run => JSON.parse(line));
}

function eachRun<T>(rowsOf: (run: Run, batch: number) => readonly T[]): T[] {
  return [...runs].flatMap(([batch, own]) =>
    own.filter((run) => !isTwin(run)).flatMap((run) => rowsOf(run, batch)),
  );
}

function modelRows(own: readonly Run[]): object[] {
  return own
    .map((run) => ({
      model: nameOf(run),
      launches: run.steps.length,
      microseconds: rounded(run.cold),
      warmMicroseconds: rounded(run.warm),
      launchesAloneMicroseconds: rounded(run.own),
    }))
    .sort((a, b) => (a.model < b.model ? -1 : 1));
}

function batchRow(run: Run, batch: number): object {
  const launches = run.steps.map(({ kind, alone, inRun, bytes }) => [
    kind === "ptx" ? 1 : 0,
    ...[rounded(alone, 2), rounded(inRun, 2), bytes],
  ]);
  return { model: nameOf(run), batch, microseconds: rounded(run.cold), launches };
}

function launchRows(run: Run, batch: number) {
  return run.steps
    .filter(({ bytes, own }) => bytes >= leastBytes || own >= leastMicroseconds)
    .map(({ kernel, detail, own, bytes }) => ({ model: nameOf(run), batch, kernel, detail, own, bytes }));
}

function earlierRows(folder: string): object[] {
  const placeOf = (row: ReturnType<typeof launchRows>[number]) =>
    [row.model, row.batch, row.kernel, row.detail].join(" ");
  const chosen = new Set(eachRun(launchRows).map(placeOf));
  return batches
    .flatMap((batch) =>
      runsOf(folder, batch)
        .filter((run) => !isTwin(run))
        .flatMap((run) => launchRows(run, batch)),
    )
    .filter((row) => !chosen.has(placeOf(row)));
}

function write(name: string, about: string | undefined, rows: readonly object[]): void {
  const all = about === undefined ? rows : [{ about }, ...rows];
  const file = path.join("bench/measurements", name);
  writeFileSync(file, `${all.map((row) => JSON.stringify(row)).join("\n")}\n`);
  console.log(`${file}: ${rows.length} rows`);
}
