/** @file Whole ONNX files priced beside what they were measured to take; what `onnx-files.ts` and its test compare. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createCostModel } from "../src/cost/model.ts";
import { findGpu } from "../src/hardware/gpus.ts";
import { stacks } from "../src/hardware/stacks.ts";
import { openModel } from "../src/onnx/open.ts";
import { priceModel } from "../src/workload/workload.ts";

/** Microseconds of one run. */
export interface FileRow {
  readonly model: string;
  readonly measured: number;
  readonly predicted: number;
  readonly low: number;
  readonly high: number;
}

interface MeasuredRow {
  readonly model: string;
  readonly mode: string;
  readonly microseconds: number;
}

const measurements = join(process.cwd(), "bench", "measurements", "h200-onnx-files.json");
/** As bench/truth-stacks.ts reads it: a second run, on another day and another H200. */
const secondRun = join(process.cwd(), "bench", "results", "truth-rows.jsonl");

export function predictFiles(zoo: string): FileRow[] {
  const { rows } = JSON.parse(readFileSync(measurements, "utf8")) as {
    readonly rows: readonly MeasuredRow[];
  };
  const again = secondTimes();
  return rows
    .filter(({ mode }) => mode === "fp16")
    .map(({ model, microseconds }) => ({
      model,
      // The two are up to a seventh apart: neither is the truth.
      measured: Math.sqrt(microseconds * (again.get(model) ?? microseconds)),
      ...predict(join(zoo, `${model}.onnx`)),
    }))
    .sort((a, b) => a.measured / a.predicted - b.measured / b.predicted);
}

/** Microseconds of originals in FP16; files that `--fix` had written come first there. */
function secondTimes(): Map<string, number> {
  const lines = readFileSync(secondRun, "utf8").trim().split("\n");
  const rows = lines.map(
    (line): { readonly model: string; readonly mode: string; readonly us: number | null } => JSON.parse(line),
  );
  return new Map(
    rows.flatMap(({ model, mode, us }) => (mode === "fp16" && us !== null ? [[model, us] as const] : [])),
  );
}

function predict(path: string): Pick<FileRow, "predicted" | "low" | "high"> {
  const gpu = findGpu("h200");
  if (gpu === undefined) throw new Error("the H200's row is missing");
  using model = openModel(path);
  const target = { gpu, stack: stacks.cudnn, precision: "fp16" } as const;
  const { timeline } = priceModel(model, { target, cost: createCostModel({ inModels: true }) });
  return { predicted: timeline.microseconds, low: timeline.low, high: timeline.high };
}

export interface FileErrors {
  /** Shares: how far the larger of both is above the smaller. */
  readonly median: number;
  readonly ninetieth: number;
  /** Rows whose interval covers what was measured. */
  readonly inside: number;
}

export function errorsOf(rows: readonly FileRow[]): FileErrors {
  const factors = rows
    .map(({ measured, predicted }) => Math.max(measured / predicted, predicted / measured) - 1)
    .sort((a, b) => a - b);
  const at = (share: number) => factors[Math.floor(share * factors.length)] ?? Number.NaN;
  const inside = rows.filter(({ measured, low, high }) => measured >= low && measured <= high).length;
  return { median: at(0.5), ninetieth: at(0.9), inside };
}
