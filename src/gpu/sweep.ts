/** @file What a calibration times: products, convolutions, attention and memory-bound operators of many sizes, in FP16. */
import type { Family } from "../cost/sketch.ts";
import type { TrafficPattern, TrafficVariant, Work } from "../ops/work.ts";

/** One node of ONNX; its inputs are float16. */
export interface SweepModel {
  readonly opType: string;
  readonly domain: string;
  readonly inputs: readonly { readonly dims: readonly number[]; readonly isWeight: boolean }[];
  readonly output: readonly number[];
  /** Whole numbers, lists of them, and floats written as { float }. */
  readonly attributes: Readonly<Record<string, number | readonly number[] | { readonly float: number }>>;
}

/** Plain data, so that it can be sent to the GPU's process. */
export interface SweepItem {
  readonly family: Family;
  readonly work: Work<number>;
  readonly variant: TrafficVariant | undefined;
  readonly model: SweepModel;
}

const dtype = "float16";
const data = (...dims: number[]) => ({ dims, isWeight: false });
const weight = (...dims: number[]) => ({ dims, isWeight: true });

export function sweep(): readonly SweepItem[] {
  return [...products(), ...convolutions(), ...attentions(), ...traffic()];
}

/** Sizes of models: hidden widths, four times them, odd ones; few rows and many. */
function products(): SweepItem[] {
  const rows = [1, 16, 128, 1024, 8192];
  const widths = [
    [64, 64],
    [256, 1024],
    [768, 768],
    [768, 3072],
    [3072, 768],
    [4096, 4096],
    [770, 766],
    [1000, 2048],
    [1024, 1001],
  ] as const;
  return rows.flatMap((m) => widths.map(([n, k]) => product(m, n, k)));
}

function product(m: number, n: number, k: number): SweepItem {
  const operands = { transA: false, transB: false, sharedB: true, dtype } as const;
  return {
    family: "gemm",
    work: { kind: "gemm", batch: 1, m, n, k, ...operands },
    variant: undefined,
    model: {
      opType: "MatMul",
      domain: "",
      inputs: [data(m, k), weight(k, n)],
      output: [m, n],
      attributes: {},
    },
  };
}

interface ConvSizes {
  readonly batch: number;
  readonly channels: number;
  readonly filters: number;
  readonly size: number;
  readonly kernel: number;
  readonly stride: number;
  readonly groups: number;
}

/** Layers of residual and mobile networks, some with odd channels. */
function convolutions(): SweepItem[] {
  const layers: Omit<ConvSizes, "batch">[] = [
    { channels: 3, filters: 64, size: 224, kernel: 7, stride: 2, groups: 1 },
    { channels: 3, filters: 32, size: 224, kernel: 3, stride: 2, groups: 1 },
    { channels: 64, filters: 256, size: 56, kernel: 1, stride: 1, groups: 1 },
    { channels: 64, filters: 64, size: 56, kernel: 3, stride: 1, groups: 1 },
    { channels: 128, filters: 128, size: 56, kernel: 3, stride: 2, groups: 1 },
    { channels: 512, filters: 128, size: 28, kernel: 1, stride: 1, groups: 1 },
    { channels: 128, filters: 128, size: 28, kernel: 3, stride: 1, groups: 1 },
    { channels: 256, filters: 256, size: 14, kernel: 3, stride: 1, groups: 1 },
    { channels: 1024, filters: 2048, size: 14, kernel: 1, stride: 2, groups: 1 },
    { channels: 512, filters: 512, size: 7, kernel: 3, stride: 1, groups: 1 },
    { channels: 67, filters: 129, size: 56, kernel: 3, stride: 1, groups: 1 },
    { channels: 251, filters: 255, size: 28, kernel: 1, stride: 1, groups: 1 },
    { channels: 32, filters: 32, size: 112, kernel: 3, stride: 1, groups: 32 },
    { channels: 240, filters: 240, size: 28, kernel: 5, stride: 1, groups: 240 },
    { channels: 256, filters: 256, size: 28, kernel: 3, stride: 1, groups: 32 },
  ];
  return [1, 8, 32].flatMap((batch) => layers.map((layer) => convolution({ batch, ...layer })));
}

function convolution({ batch, channels, filters, size, kernel, stride, groups }: ConvSizes): SweepItem {
  const pad = (kernel - 1) / 2;
  const output = Math.floor((size + 2 * pad - kernel) / stride) + 1;
  return {
    family: "conv",
    work: {
      kind: "conv",
      batch,
      channels,
      filters,
      groups,
      input: [size, size],
      output: [output, output],
      kernel: [kernel, kernel],
      strides: [stride, stride],
      dilations: [1, 1],
      layout: "nhwc",
      transposed: false,
      dtype,
    },
    variant: undefined,
    model: {
      opType: "Conv",
      domain: "",
      inputs: [data(batch, channels, size, size), weight(filters, channels / groups, kernel, kernel)],
      output: [batch, filters, output, output],
      attributes: { strides: [stride, stride], pads: [pad, pad, pad, pad], group: groups },
    },
  };
}

function attentions(): SweepItem[] {
  const sizes = [
    [1, 8, 512, 64],
    [4, 12, 197, 64],
    [8, 8, 128, 64],
    [1, 16, 2048, 64],
    [1, 16, 1024, 128],
    [2, 8, 1024, 40],
    [1, 8, 4096, 80],
    [8, 16, 729, 72],
  ] as const;
  return sizes.map(([batch, heads, length, headDim]) => {
    const tensor = data(batch, length, heads * headDim);
    const own = { queryLength: length, keyLength: length, headDim, valueHeadDim: headDim };
    const work = { kind: "attention", batch, heads, kvHeads: heads, ...own } as const;
    return {
      family: "attention",
      work: { ...work, causal: false, masked: false, dtype },
      variant: undefined,
      model: {
        opType: "MultiHeadAttention",
        domain: "com.microsoft",
        inputs: [tensor, tensor, tensor],
        output: tensor.dims,
        attributes: { num_heads: heads },
      },
    };
  });
}

interface TrafficRow {
  readonly variant: TrafficVariant;
  readonly pattern: TrafficPattern;
  readonly opType: string;
  /** How many inputs of the whole size. */
  readonly reads: number;
  readonly weights?: number;
  readonly attributes?: SweepModel["attributes"];
}

const trafficRows: readonly TrafficRow[] = [
  { variant: "add", pattern: "elementwise", opType: "Add", reads: 2 },
  { variant: "relu", pattern: "elementwise", opType: "Relu", reads: 1 },
  { variant: "gelu", pattern: "elementwise", opType: "Gelu", reads: 1 },
  { variant: "softmax", pattern: "normalization", opType: "Softmax", reads: 1 },
  { variant: "layernorm", pattern: "normalization", opType: "LayerNormalization", reads: 1, weights: 2 },
  { variant: "transpose", pattern: "copy", opType: "Transpose", reads: 1, attributes: { perm: [1, 0] } },
];

function traffic(): SweepItem[] {
  const sizes = [
    [128, 768],
    [4096, 768],
    [32_768, 256],
    [16_384, 4096],
    [3136, 1001],
  ] as const;
  return trafficRows.flatMap((row) => sizes.map(([rows, columns]) => trafficItem(row, rows, columns)));
}

function trafficItem(row: TrafficRow, rows: number, columns: number): SweepItem {
  const { variant, pattern, opType, reads, weights = 0, attributes = {} } = row;
  const bytes = 2 * rows * columns;
  return {
    family: "traffic",
    work: { kind: "traffic", pattern, rows, columns, bytesRead: reads * bytes, bytesWritten: bytes, dtype },
    variant,
    model: {
      opType,
      domain: "",
      inputs: [
        ...Array.from({ length: reads }, () => data(rows, columns)),
        ...Array.from({ length: weights }, () => weight(columns)),
      ],
      output: variant === "transpose" ? [columns, rows] : [rows, columns],
      attributes,
    },
  };
}
