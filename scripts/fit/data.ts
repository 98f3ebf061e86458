/** @file Measured rows as work: the shared measurements, their sweeps, and what bench/measure_pytorch.py added. */
import { existsSync, readFileSync } from "node:fs";
import { parseRow, type RowFamily } from "../../src/cost/rows.ts";
import type { Family } from "../../src/cost/sketch.ts";
import type { Precision } from "../../src/hardware/target.ts";
import type { TrafficVariant, Work } from "../../src/ops/work.ts";
import { extraSample } from "./extra.ts";

/** Rows and sweeps are shared by the project; "extra" ones never count towards a figure. */
export type Origin = "rows" | "sweeps" | "extra";

export interface Sample {
  readonly family: Family;
  readonly origin: Origin;
  /** Under which name the report counts it: "gemm fp16", "conv". */
  readonly subset: string;
  readonly work: Work<number>;
  readonly precision: Precision;
  readonly variant: TrafficVariant | undefined;
  readonly biased: boolean;
  /** Stands for what a stack makes of loops that it compiles. */
  readonly compiled?: boolean;
  readonly microseconds: number;
  /** In training. */
  readonly weight: number;
  /** Of which measured change this is a side. */
  readonly change?: ChangeSide;
}

export interface ChangeSide {
  /** Both sides have it. */
  readonly id: string;
  /** As pairs.py names it: "conv", "layout", "precision-tf32". */
  readonly kind: string;
  readonly side: "before" | "after";
}

const sharedFolder = "../shared/measurements/";
const extraFiles = [
  "h200-pytorch-2026-11-21-seed2",
  "h200-pytorch-2026-11-21-seed3",
  "h200-precision-seed31",
  "h200-pairs-seed11",
  "h200-pairs-seed13",
  "h200-pairs-seed14",
  "h200-pairs-seed16",
  "h200-pairs-seed18",
  "h200-pairs-seed19",
  "h200-pairs-seed20",
  "h200-pairs-seed24",
  "h200-pairs-seed25",
  "h200-pairs-seed26",
  "h200-pairs-seed27",
  "h200-compiled-norms-seed41",
].map((name) => `bench/measurements/${name}.jsonl`);

/** Of the first of these the operators' shares stand for a pattern in FP16; the others repeat shapes for their FP32. */
const operatorMixes = 2;

export interface Inputs {
  readonly samples: readonly Sample[];
  readonly files: readonly string[];
}

/** Undefined where the shared measurements are not beside the repository. */
export function loadSamples(): Inputs | undefined {
  const [ops, sweeps] = [`${sharedFolder}h200-pytorch-ops.json`, `${sharedFolder}h200-pytorch-sweeps.json`];
  const files = [ops, sweeps, ...extraFiles];
  if (!files.every(existsSync)) return undefined;
  const shared = [...tables(ops, "rows"), ...tables(sweeps, "sweeps")];
  const known = new Set(shared.map(identity));
  // A shape that the figures are computed on must not sneak in through the other measurement.
  const added = extraFiles.map((file) => linesOf(file).filter((sample) => !known.has(identity(sample))));
  const unnamedOf = (samples: readonly Sample[], isMix: boolean) =>
    samples.flatMap((sample) => unnamed(sample, isMix || sample.work.dtype === "float32"));
  const byPattern = added.flatMap((samples, index) => unnamedOf(samples, index < operatorMixes));
  const all = [...shared, ...added.flat()];
  return { samples: [...all, ...unnamedOf(shared, true), ...byPattern], files };
}

/** A graph often tells only how data is walked: what a named operator takes stands for its pattern, too. */
function unnamed({ change, ...sample }: Sample, counts: boolean): Sample[] {
  const { variant } = sample;
  if (variant === undefined) return [];
  const byPattern: Sample = {
    ...sample,
    family: "walk",
    variant: undefined,
    subset: `${sample.subset} by pattern`,
    origin: "extra",
    weight: counts ? 0.5 : 0.01,
  };
  const asOperator = { ...byPattern, ...(change && { change }) };
  const isLoop = sweeps.has(variant);
  return isLoop
    ? [asOperator, { ...byPattern, subset: `${sample.subset} as a loop`, compiled: true }]
    : [asOperator];
}

/** Operators whose elements lie alike in all operands: what a compiled loop takes. */
const sweeps: ReadonlySet<TrafficVariant> = new Set(["add", "relu", "silu", "gelu", "cast"]);

/** What was measured, without the measured value. */
export function identity({ work, precision, variant, biased, compiled }: Sample): string {
  return JSON.stringify([work, precision, variant, biased, compiled]);
}

const rowFamilies: readonly RowFamily[] = ["gemm", "bmm", "conv", "sdpa", "memory"];

/** Of a file with the form of h200-pytorch-ops.json. */
export function tables(file: string, origin: Origin): Sample[] {
  const content: Record<string, unknown> = JSON.parse(readFileSync(file, "utf8"));
  const samples = rowFamilies.flatMap((family) => {
    const rows = (content[family] ?? []) as unknown[][];
    return rows.map((row) => sampleOf(family, row, origin));
  });
  const backends = (content["sdpa_by_backend"] ?? []) as Record<string, number | boolean>[];
  for (const { B, H, S, D, causal, default: us } of backends) {
    samples.push(sampleOf("sdpa", [B, H, S, S, D, causal, us], origin));
  }
  return samples;
}

export function sampleOf(family: RowFamily, row: readonly unknown[], origin: Origin): Sample {
  const parsed = parseRow(family, row);
  if (typeof parsed === "string") throw new Error(`${family} ${JSON.stringify(row)}: ${parsed}`);
  const { work, precision, variant } = parsed;
  const microseconds = row.at(-1);
  if (typeof microseconds !== "number")
    throw new Error(`${family} ${JSON.stringify(row)}: no measured value`);
  const dtype = namedFormat(family, row, origin);
  const kind = dtype === undefined ? family : `${family} ${dtype}`;
  return {
    family: work.kind,
    origin,
    subset: kind,
    work,
    precision,
    variant,
    biased: true,
    microseconds,
    weight: 1,
  };
}

/** Products are counted by their number format, and so are convolutions and memory passes of another than FP16. */
function namedFormat(family: RowFamily, row: readonly unknown[], origin: Origin): string | undefined {
  if (family === "gemm") return String(row[3]);
  const dtype = family === "conv" ? row[10] : family === "memory" ? row[3] : undefined;
  const counted = origin === "extra" && (dtype === "fp32" || dtype === "tf32");
  return counted ? dtype : undefined;
}

/** Of a file that bench/measure_pytorch.py, bench/gpu/precision_rows.py or bench/gpu/pairs.py wrote. */
export function linesOf(file: string): Sample[] {
  const lines = readFileSync(file, "utf8").trim().split("\n");
  return lines.flatMap((line) => {
    const parsed: unknown = JSON.parse(line);
    if (!Array.isArray(parsed)) return sidesOf(parsed as ChangeRow, file);
    const [family, ...row]: unknown[] = parsed;
    return family === "meta" ? [] : [extraSample(String(family), row)];
  });
}

/** A line of bench/gpu/pairs.py; the first has none of this. */
type ChangeRow = Partial<Record<ChangeSide["side"], ChangeRowSide>> & {
  readonly index?: number;
  readonly kind?: string;
};

interface ChangeRowSide {
  readonly rows: readonly (readonly [string, ...unknown[]])[];
  readonly us: number;
}

/** Of several kernels nobody knows what each took. */
function sidesOf({ index, kind = "", ...sides }: ChangeRow, file: string): Sample[] {
  return (["before", "after"] as const).flatMap((side) => {
    const { rows = [], us } = sides[side] ?? {};
    const [only, ...more] = rows;
    if (only === undefined || more.length > 0) return [];
    const [family, ...columns] = only;
    return [{ ...extraSample(family, [...columns, us]), change: { id: `${file} ${index}`, kind, side } }];
  });
}
