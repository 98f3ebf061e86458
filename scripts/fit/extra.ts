/** @file Rows of families that the shared measurements lack: other operands, number formats and operators. */
import type { RowFamily } from "../../src/cost/rows.ts";
import type { TrafficPattern, TrafficVariant, Work } from "../../src/ops/work.ts";
import { type Sample, sampleOf } from "./data.ts";

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
      return unbiased(sampleOf("conv", row, "extra"));
    case "sdpa_masked":
      return { ...withWork(sampleOf("sdpa", row, "extra"), { masked: true }), subset: family };
    case "conv_nd":
      return convNd(row);
    case "traffic":
      return traffic(row);
    case "recurrent":
      return recurrent(row);
    case "compiled_rows":
      return compiledRows(row);
    default:
      return { ...sampleOf(family as RowFamily, row, "extra") };
  }
}

function unbiased(sample: Sample): Sample {
  return { ...sample, biased: false, subset: sample.subset.replace("conv", "conv_nobias") };
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
  const variant = op === "embedding" && bytesWritten % (16 * rows) !== 0 ? "gather_single" : variantOf[op];
  return { ...plain, family: "traffic", subset: "traffic", variant, work, microseconds };
}

const variantOf: Readonly<Record<string, TrafficVariant>> = {
  batchnorm: "batchnorm",
  batchnorm_nchw: "batchnorm_nchw",
  bias_nhwc: "bias",
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
  // By a number of the call: one operand.
  scale: "relu",
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

/** As bench/gpu/compiled_norms.py writes them: of no operator by itself. */
function compiledRows(row: readonly unknown[]): Sample {
  const [, rows, columns, valuesRead, valuesWritten, name, microseconds] = row as [
    string,
    number,
    number,
    number,
    number,
    string,
    number,
  ];
  const bytes = rows * columns * (name === "fp16" ? 2 : 4);
  const moved = { bytesRead: valuesRead * bytes, bytesWritten: valuesWritten * bytes };
  const work: Work<number> = {
    kind: "traffic",
    pattern: "normalization",
    isLoop: true,
    rows,
    columns,
    ...moved,
    dtype: "float16",
  };
  const sample: Sample = {
    ...plain,
    family: "walk",
    subset: "rows in a loop",
    work,
    compiled: true,
    microseconds,
  };
  return typed(sample, name);
}
