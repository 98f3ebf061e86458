/** @file Measured rows as work: the shared measurements, their sweeps, and what bench/measure_pytorch.py added. */
import { existsSync, readFileSync } from "node:fs";
import { parseRow, type RowFamily } from "../../src/cost/rows.ts";
import type { Family } from "../../src/cost/sketch.ts";
import type { TrafficVariant } from "../../src/cost/traffic.ts";
import type { Precision } from "../../src/hardware/target.ts";
import type { TrafficPattern, Work } from "../../src/ops/work.ts";

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
  readonly microseconds: number;
  /** In training. */
  readonly weight: number;
}

const sharedFolder = "../shared/measurements/";
const extraFiles = ["seed2", "seed3"].map(
  (seed) => `bench/measurements/h200-pytorch-2026-11-21-${seed}.jsonl`,
);

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
  const added = extraFiles.flatMap(linesOf).filter((sample) => !known.has(identity(sample)));
  const all = [...shared, ...added];
  return { samples: [...all, ...all.flatMap(unnamed)], files };
}

/** A graph often tells only how data is walked: what a named operator takes stands for its pattern, too. */
function unnamed(sample: Sample): Sample[] {
  if (sample.variant === undefined) return [];
  return [
    {
      ...sample,
      family: "walk",
      variant: undefined,
      subset: `${sample.subset} by pattern`,
      origin: "extra",
      weight: 0.5,
    },
  ];
}

/** What was measured, without the measured value. */
export function identity({ work, precision, variant, biased }: Sample): string {
  return JSON.stringify([work, precision, variant, biased]);
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

function sampleOf(family: RowFamily, row: readonly unknown[], origin: Origin): Sample {
  const parsed = parseRow(family, row);
  if (typeof parsed === "string") throw new Error(`${family} ${JSON.stringify(row)}: ${parsed}`);
  const { work, precision, variant } = parsed;
  const microseconds = row.at(-1);
  if (typeof microseconds !== "number")
    throw new Error(`${family} ${JSON.stringify(row)}: no measured value`);
  const kind = family === "gemm" ? `gemm ${String(row[3])}` : family;
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

/** Of a file that bench/measure_pytorch.py or bench/gpu/precision_rows.py wrote. */
export function linesOf(file: string): Sample[] {
  const samples: Sample[] = [];
  for (const line of readFileSync(file, "utf8").trim().split("\n")) {
    const [family, ...row]: unknown[] = JSON.parse(line);
    if (family !== "meta") samples.push(extraSample(String(family), row));
  }
  return samples;
}

/** A row with its measured value behind its columns. */
export function extraSample(family: string, row: readonly unknown[]): Sample {
  switch (family) {
    case "bmm_typed":
    case "sdpa_typed":
      return typed(sampleOf(family === "bmm_typed" ? "bmm" : "sdpa", row, "extra"), row.at(-2));
    case "traffic_typed":
      return typed(traffic([...row.slice(0, -2), row.at(-1)]), row.at(-2));
    case "gemm_nn":
      return { ...withWork(sampleOf("gemm", row, "extra"), { transB: false }), subset: family };
    case "conv_nobias":
      return { ...sampleOf("conv", row, "extra"), biased: false, subset: family };
    case "sdpa_masked":
      return { ...withWork(sampleOf("sdpa", row, "extra"), { masked: true }), subset: family };
    case "conv_nd":
      return convNd(row);
    case "traffic":
      return traffic(row);
    case "recurrent":
      return recurrent(row);
    default:
      return { ...sampleOf(family as RowFamily, row, "extra") };
  }
}

function withWork(sample: Sample, change: object): Sample {
  return { ...sample, work: { ...sample.work, ...change } };
}

const formats = {
  fp16: { dtype: "float16", precision: "as-is" },
  tf32: { dtype: "float32", precision: "tf32" },
  fp32: { dtype: "float32", precision: "as-is" },
} as const;

/** The same work in the number format that a row names last, where the shared rows of its family know FP16 alone. */
function typed(sample: Sample, name: unknown): Sample {
  const format = Object.entries(formats).find(([each]) => each === name)?.[1];
  if (format === undefined) throw new Error(`${sample.subset}: no number format ${JSON.stringify(name)}`);
  const { precision, dtype } = format;
  return { ...withWork(sample, { dtype }), precision, subset: `${sample.subset} ${String(name)}` };
}

const plain = {
  family: "conv",
  origin: "extra",
  precision: "as-is",
  variant: undefined,
  biased: false,
  weight: 1,
} as const;

function convNd(row: readonly unknown[]): Sample {
  const [batch, channels, input, filters, kernel, stride, pad, groups, layout, transposed, microseconds] =
    row as [number, number, number[], number, number[], number, number, number, string, boolean, number];
  const output = input.map((size, axis) => {
    const taps = kernel[axis] ?? 1;
    return transposed
      ? (size - 1) * stride - 2 * pad + taps
      : Math.floor((size + 2 * pad - taps) / stride) + 1;
  });
  const work: Work<number> = {
    kind: "conv",
    batch,
    channels,
    filters,
    groups,
    input,
    output,
    kernel,
    strides: input.map(() => stride),
    dilations: input.map(() => 1),
    // PyTorch has no channels-last format of one axis.
    layout: layout === "NHWC" && input.length > 1 ? "nhwc" : "nchw",
    transposed,
    dtype: "float16",
  };
  return { ...plain, subset: "conv_nd", work, microseconds };
}

function traffic(row: readonly unknown[]): Sample {
  const [op, pattern, rows, columns, bytesRead, bytesWritten, microseconds] = row as [
    string,
    TrafficPattern,
    number,
    number,
    number,
    number,
    number,
  ];
  const work: Work<number> = {
    kind: "traffic",
    pattern,
    rows,
    columns,
    bytesRead,
    bytesWritten,
    dtype: "float16",
  };
  return { ...plain, family: "traffic", subset: "traffic", variant: variantOf[op], work, microseconds };
}

const variantOf: Readonly<Record<string, TrafficVariant>> = {
  batchnorm: "batchnorm",
  batchnorm_nchw: "batchnorm",
  bias_nhwc: "broadcast",
  scale_channels: "broadcast",
  cast: "cast",
  concat: "concat",
  to_nchw: "permute",
  to_nhwc: "permute",
  permute_heads: "permute",
  slice: "slice",
  embedding: "gather",
  upsample: "upsample",
  pad: "pad",
  mean: "mean",
  global_pool: "globalpool",
  groupnorm: "groupnorm",
  maxpool: "maxpool",
  avgpool: "avgpool",
};

function recurrent(row: readonly unknown[]): Sample {
  const [gates, , steps, batch, inputSize, hiddenSize, microseconds] = row as number[] as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const work: Work<number> = {
    kind: "recurrent",
    steps,
    batch,
    inputSize,
    hiddenSize,
    gates,
    directions: 1,
    dtype: "float16",
  };
  return { ...plain, family: "recurrent", subset: "recurrent", work, microseconds };
}
