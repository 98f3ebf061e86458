/** @file Rows with the columns of h200-pytorch-ops.json, as work. */
import type { Precision } from "../hardware/target.ts";
import type { DType } from "../ir/dtype.ts";
import type { TrafficPattern, TrafficVariant, Work } from "../ops/work.ts";

export type RowFamily = "gemm" | "bmm" | "conv" | "sdpa" | "memory";

export const rowFamilies = ["gemm", "bmm", "conv", "sdpa", "memory"] as const satisfies readonly RowFamily[];

export interface ParsedRow {
  readonly work: Work<number>;
  readonly precision: Precision;
  /** Of memory rows, which operator it is. */
  readonly variant: TrafficVariant | undefined;
}

/** The row as work, or what is wrong with it. A measured value behind the columns is ignored. */
export function parseRow(family: RowFamily, row: unknown): ParsedRow | string {
  if (!Array.isArray(row)) return "not an array";
  const columns = new Columns(row);
  const parsed = parsers[family](columns);
  return columns.problem ?? parsed;
}

const dtypeNames: Readonly<Record<string, { dtype: DType; precision: Precision }>> = {
  fp16: { dtype: "float16", precision: "as-is" },
  float16: { dtype: "float16", precision: "as-is" },
  bf16: { dtype: "bfloat16", precision: "as-is" },
  bfloat16: { dtype: "bfloat16", precision: "as-is" },
  tf32: { dtype: "float32", precision: "tf32" },
  fp32: { dtype: "float32", precision: "as-is" },
  float32: { dtype: "float32", precision: "as-is" },
  int8: { dtype: "int8", precision: "as-is" },
};

const bytesOfDtype: Readonly<Partial<Record<DType, number>>> = {
  float16: 2,
  bfloat16: 2,
  float32: 4,
  int8: 1,
};

interface MemoryOp {
  readonly pattern: TrafficPattern;
  readonly variant: TrafficVariant;
  readonly reads: number;
}

const memoryOps: Readonly<Record<string, MemoryOp>> = {
  add: { pattern: "elementwise", variant: "add", reads: 2 },
  relu: { pattern: "elementwise", variant: "relu", reads: 1 },
  silu: { pattern: "elementwise", variant: "silu", reads: 1 },
  gelu: { pattern: "elementwise", variant: "gelu", reads: 1 },
  layernorm: { pattern: "normalization", variant: "layernorm", reads: 1 },
  softmax: { pattern: "normalization", variant: "softmax", reads: 1 },
  transpose: { pattern: "copy", variant: "transpose", reads: 1 },
  copy: { pattern: "copy", variant: "copy", reads: 1 },
};

/** Reads a row from left to right and keeps the first problem. */
class Columns {
  readonly #row: readonly unknown[];
  #next = 0;
  problem: string | undefined;

  constructor(row: readonly unknown[]) {
    this.#row = row;
  }

  size(name: string, least = 1): number {
    const value = this.#take();
    if (typeof value === "number" && Number.isInteger(value) && value >= least && value <= 2 ** 31)
      return value;
    this.#fail(`${name} is ${describe(value)}, not a whole number from ${least}`);
    return Math.max(least, 1);
  }

  flag(name: string): boolean {
    const value = this.#take();
    if (typeof value !== "boolean") this.#fail(`${name} is ${describe(value)}, neither true nor false`);
    return value === true;
  }

  /** The table's value for a name in it. */
  named<T>(name: string, table: Readonly<Record<string, T>>, otherwise: T): T {
    const value = this.#take();
    const found = typeof value === "string" && Object.hasOwn(table, value) ? table[value] : undefined;
    if (found === undefined) {
      this.#fail(`${name} is ${describe(value)}, not one of ${Object.keys(table).join(", ")}`);
    }
    return found ?? otherwise;
  }

  fail(problem: string): void {
    this.#fail(problem);
  }

  #take(): unknown {
    return this.#row[this.#next++];
  }

  #fail(problem: string): void {
    this.problem ??= problem;
  }
}

function describe(value: unknown): string {
  return value === undefined ? "missing" : (JSON.stringify(value) ?? typeof value).slice(0, 40);
}

const half = { dtype: "float16", precision: "as-is" } as const;

const parsers: Readonly<Record<RowFamily, (columns: Columns) => ParsedRow>> = {
  gemm(columns) {
    const [m, n, k] = [columns.size("M"), columns.size("N"), columns.size("K")];
    const { dtype, precision } = columns.named("dtype", dtypeNames, half);
    const operands = { transA: false, transB: true, sharedB: true, dtype } as const;
    return { work: { kind: "gemm", batch: 1, m, n, k, ...operands }, precision, variant: undefined };
  },
  bmm(columns) {
    const batch = columns.size("batch");
    const [m, n, k] = [columns.size("M"), columns.size("N"), columns.size("K")];
    const transB = columns.named("layout", { NN: false, NT: true }, false);
    const operands = { transA: false, transB, sharedB: false, dtype: "float16" } as const;
    return { work: { kind: "gemm", batch, m, n, k, ...operands }, precision: "as-is", variant: undefined };
  },
  conv: parseConv,
  sdpa(columns) {
    const [batch, heads] = [columns.size("B"), columns.size("heads")];
    const [queryLength, keyLength] = [columns.size("S_q"), columns.size("S_kv")];
    const headDim = columns.size("head_dim");
    const causal = columns.flag("causal");
    const sizes = { batch, heads, kvHeads: heads, queryLength, keyLength, headDim, valueHeadDim: headDim };
    const work = { kind: "attention", ...sizes, causal, masked: false, dtype: "float16" } as const;
    return { work, precision: "as-is", variant: undefined };
  },
  memory(columns) {
    const op = columns.named<MemoryOp>("op", memoryOps, { pattern: "copy", variant: "copy", reads: 1 });
    const [rows, cols] = [columns.size("rows"), columns.size("cols")];
    const { dtype, precision } = columns.named("dtype", dtypeNames, half);
    const bytes = rows * cols * (bytesOfDtype[dtype] ?? 2);
    const traffic = { bytesRead: bytes * op.reads, bytesWritten: bytes, dtype };
    const work = { kind: "traffic", pattern: op.pattern, rows, columns: cols, ...traffic } as const;
    return { work, precision, variant: op.variant };
  },
};

function parseConv(columns: Columns): ParsedRow {
  const [batch, channels] = [columns.size("N"), columns.size("C")];
  const input = [columns.size("H"), columns.size("W")];
  const [filters, taps] = [columns.size("K"), columns.size("R")];
  const [stride, pad, groups] = [columns.size("stride"), columns.size("pad", 0), columns.size("groups")];
  const layout = columns.named("layout", { NHWC: "nhwc", NCHW: "nchw" } as const, "nhwc");
  const { dtype, precision } = columns.named("dtype", dtypeNames, half);
  if (channels % groups !== 0 || filters % groups !== 0)
    columns.fail(`groups ${groups} divide C or K unevenly`);
  const output = input.map((size) => Math.floor((size + 2 * pad - taps) / stride) + 1);
  if (output.some((size) => size < 1)) columns.fail("the kernel is larger than the padded input");
  const kernel = [taps, taps];
  const window = { kernel, strides: [stride, stride], dilations: [1, 1], layout, transposed: false, dtype };
  const work = { kind: "conv", batch, channels, filters, groups, input, output, ...window } as const;
  return { work, precision, variant: undefined };
}
