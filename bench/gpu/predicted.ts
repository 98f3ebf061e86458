/**
 * @file Predicted times beside those measured on an H200 (bench/results/gpu-*.json): how far off, by file. No GPU.
 *
 *     node scripts/run.mjs bench/gpu/predicted.ts [--rows]
 *
 * Prints the median and the 90th percentile of |ln(predicted / measured)|: of what plans carry, and of a guess that
 * knows only the roofline. Then the rows that are furthest off, or all with --rows.
 */

import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { aloneMicroseconds, bytesMoved } from "../../cuda-runtime/cost/predict.ts";
import type { Action } from "../../cuda-runtime/ir/step.ts";
import { type HalfStorage, isHalfStorage } from "../../cuda-runtime/ir/storage.ts";
import { DraftOperands } from "../../cuda-runtime/plan/draft-operands.ts";
import { ratesOf } from "../../src/gpu/roofline.ts";
import { findGpu } from "../../src/hardware/gpus.ts";
import { machineOf } from "../../src/hardware/machine.ts";
import {
  type ChainKind,
  emitChain,
  emitHeads,
  emitLayer,
  emitProduct,
  emitRows,
  type Operands,
  type RowKind,
} from "./operations.ts";

const { values: options } = parseArgs({ options: { rows: { type: "boolean", default: false } } });
const shownRows = 4;

const gpu = findGpu("h200");
if (gpu === undefined) throw new Error("no row of an H200");
const target = machineOf(gpu);
const rates = ratesOf(gpu);

/** A row of a file, its operation as torch_ops.py reads it. */
interface Measured {
  readonly us: number;
  readonly op: Readonly<Record<string, unknown>>;
}

interface Compared {
  readonly name: string;
  readonly us: number;
  readonly predicted: number;
  readonly guessed: number;
}

function numberOf(op: Measured["op"], key: string): number {
  const value = op[key];
  if (typeof value !== "number") throw new Error(`a row without ${key}: ${JSON.stringify(op)}`);
  return value;
}

function storageOf({ dtype }: Measured["op"]): HalfStorage {
  if (dtype === "fp16") return "float16";
  if (dtype === "bf16") return "bfloat16";
  throw new Error(`a row of ${String(dtype)}`);
}

function emitLayerOf(set: Operands, op: Measured["op"]): void {
  const size = (key: string) => numberOf(op, key);
  const [height, width] = [size("H"), size("W")];
  // PyTorch's side knows two axes: of others a row keeps the first two.
  const sizes: Readonly<Record<string, readonly number[]>> = {
    conv1d: [height],
    conv: [height, width],
    conv3d: [height, width, width],
  };
  const layer = {
    channels: size("C"),
    size: sizes[String(op["op"])] ?? [],
    filters: size("K"),
    taps: size("R"),
    stride: size("stride"),
    pad: size("pad"),
    groups: size("groups"),
  };
  emitLayer(set, layer, size("N"), storageOf(op));
}

function emitHeadsOf(set: Operands, op: Measured["op"]): void {
  const size = (key: string) => numberOf(op, key);
  const shape = [
    ...([size("B"), size("heads"), size("S_q"), size("S_kv"), size("head_dim")] as const),
    op["causal"] === true,
  ] as const;
  emitHeads(set, shape, storageOf(op));
}

function emitRowsOf(set: Operands, op: Measured["op"], kind: RowKind): void {
  const shape = [numberOf(op, "rows"), numberOf(op, "cols")];
  emitRows(set.emitter, kind, set.tensor("input", storageOf(op), shape, 1), set.output(storageOf(op), shape));
}

const emitters: Readonly<Record<string, (set: Operands, op: Measured["op"]) => void>> = {
  gemm: (set, op) => {
    const [M, N, K] = [numberOf(op, "M"), numberOf(op, "N"), numberOf(op, "K")];
    emitProduct(set, { M, N, K }, storageOf(op));
  },
  conv: emitLayerOf,
  conv1d: emitLayerOf,
  conv3d: emitLayerOf,
  sdpa: emitHeadsOf,
  layernorm: (set, op) => emitRowsOf(set, op, "layernorm"),
  softmax: (set, op) => emitRowsOf(set, op, "softmax"),
  ...Object.fromEntries(
    (["add", "gelu", "silu"] satisfies ChainKind[]).map((kind) => [
      kind,
      (set: Operands, op: Measured["op"]) =>
        void emitChain(set, kind, [numberOf(op, "rows"), numberOf(op, "cols")]),
    ]),
  ),
};

/** What was printed before kernels had models: the roofline, a share that good kernels reach of it, and a launch. */
function guessedMicroseconds(action: Action): number {
  if (action.kind === "clear") return 2;
  const { kernel, flops = 0, reads, writes } = action.launch;
  const family = kernel.kind === "built" ? kernel.family : "chain";
  const isTensor = /^(gemm|conv|attention)/.test(family) && reads.every(({ type }) => type !== "float64");
  const isHalf = reads[0] !== undefined && isHalfStorage(reads[0].type);
  const rate = (isTensor && isHalf ? rates.tensor("fp16") : undefined) ?? rates.cuda;
  const seconds = Math.max(flops / rate, bytesMoved([...reads, ...writes]) / rates.bytesPerSecond);
  return 2 + (1e6 * seconds) / 0.7;
}

function compared({ us, op: given, ...rest }: Measured): Compared {
  // Rows of products have their sizes beside them.
  const op = typeof given === "string" ? { ...rest, op: given } : given;
  const kind = String(op["op"]);
  const emit = emitters[kind];
  if (emit === undefined) throw new Error(`a row of ${kind}`);
  const set = new DraftOperands(target);
  emit(set, op);
  const actions = set.actions();
  const sum = (each: (action: Action) => number) =>
    actions.reduce((total, action) => total + each(action), 0);
  const detail = actions.map((action) => (action.kind === "launch" ? action.launch.detail : action.kind));
  const sizes = Object.values(op).filter((value) => typeof value !== "string");
  return {
    name: `${kind} ${sizes.join(" ")}: ${detail.join(" + ")}`,
    us,
    predicted: sum((action) => aloneMicroseconds(action, target)),
    guessed: sum(guessedMicroseconds),
  };
}

function errorOf(predicted: number, measured: number): number {
  return Math.abs(Math.log(predicted / measured));
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.round(share * (sorted.length - 1))] ?? Number.NaN;
}

function summary(name: string, rows: readonly Compared[]): string {
  const columns = (["predicted", "guessed"] as const).map((key) => {
    const errors = rows.map((row) => errorOf(row[key], row.us));
    return `${key === "predicted" ? "models" : "roofline"} ${quantile(errors, 0.5).toFixed(3)}, ${quantile(errors, 0.9).toFixed(3)}`;
  });
  return `${name.padEnd(24)} ${String(rows.length).padStart(3)} rows   ${columns.join("   ")}`;
}

function rowsOf(file: string): Compared[] {
  const text = readFileSync(`bench/results/${file}.json`, "utf8");
  const { rows }: { readonly rows: readonly Measured[] } = JSON.parse(text);
  return rows.map(compared);
}

/** A conv file's depthwise rows have a model of their own. */
const files = ["gpu-gemm", "gpu-conv", "gpu-conv-misaligned", "gpu-attention", "gpu-norm-fp16", "gpu-chain"];
const all: Compared[] = [];
for (const file of files) {
  const rows = rowsOf(file);
  const isDepthwise = ({ name }: Compared) => name.includes("depthwise");
  for (const [part, name] of [
    [rows.filter((row) => !isDepthwise(row)), file],
    [rows.filter(isDepthwise), `${file}, depthwise`],
  ] as const) {
    if (part.length === 0) continue;
    console.log(summary(name, part));
    const worst = part.toSorted((a, b) => errorOf(b.predicted, b.us) - errorOf(a.predicted, a.us));
    for (const { name: row, us, predicted } of options.rows ? part : worst.slice(0, shownRows)) {
      console.log(`    ${(predicted / us).toFixed(2)}x: ${predicted.toFixed(1)} of ${us} us, ${row}`);
    }
    all.push(...part);
  }
}
console.log(summary("all", all));
