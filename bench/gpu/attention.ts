/**
 * @file Attention beside PyTorch's: head sizes 40 to 128, 49 to 8,192 positions, causal and not.
 *
 *     node dist/gpu/attention.js [--dtype fp16,bf16] [--peers FOLDER] [--tiles] [--only TEXT]
 *
 * Writes $OUT/attention.json. With --peers (the folder of torch_ops.py) its times stand beside ours. --tiles times every
 * tile that takes a shape: what the rates in tiles.ts are set by. --only: rows whose name has the text.
 */
import { parseArgs } from "node:util";
import type { Step } from "../../cuda-runtime/ir/step.ts";
import type { HalfStorage } from "../../cuda-runtime/ir/storage.ts";
import type { View } from "../../cuda-runtime/ir/view.ts";
import { type TensorTile, tensorTiles } from "../../cuda-runtime/kernels/attention/tiles.ts";
import { HarnessHost } from "../../cuda-runtime/session/harness.ts";
import {
  CallSet,
  contentOf,
  placesIn,
  setCount,
  timeCalls,
} from "../../cuda-runtime/session/kernel-timer.ts";
import { report, samplingBeside, type TimedRow } from "./beside-torch.ts";
import { type AttentionShape, emitHeads } from "./operations.ts";

const shapes: readonly AttentionShape[] = [
  [64, 12, 49, 49, 64, false],
  [8, 12, 197, 197, 64, false],
  [1, 12, 197, 197, 64, false],
  [1, 16, 256, 256, 72, false],
  [8, 16, 729, 729, 72, false],
  [2, 8, 1024, 1024, 40, false],
  [2, 8, 4096, 4096, 40, false],
  [2, 8, 4096, 77, 40, false],
  [2, 8, 1024, 1024, 80, false],
  [1, 8, 512, 512, 64, false],
  [2, 8, 512, 512, 64, false],
  [1, 8, 512, 512, 64, true],
  [2, 8, 512, 512, 64, true],
  [1, 4, 128, 128, 64, false],
  [1, 16, 256, 256, 64, false],
  [4, 8, 512, 512, 64, false],
  [32, 12, 128, 128, 64, false],
  [1, 6, 1500, 1500, 64, false],
  [4, 16, 2048, 2048, 64, false],
  [4, 16, 2048, 2048, 64, true],
  [2, 16, 4096, 4096, 64, true],
  [1, 16, 8192, 8192, 64, false],
  [4, 12, 1024, 1024, 96, true],
  [4, 16, 2048, 2048, 96, false],
  [8, 32, 512, 512, 128, true],
  [4, 16, 2048, 2048, 128, false],
  [2, 32, 4096, 4096, 128, true],
  [1, 16, 8192, 8192, 128, false],
  [1, 32, 1, 4096, 128, false],
];

const dtypes = {
  fp16: { storage: "float16", tolerance: 5e-4 },
  bf16: { storage: "bfloat16", tolerance: 4e-3 },
} as const satisfies Record<string, { storage: HalfStorage; tolerance: number }>;
type Dtype = keyof typeof dtypes;

const { values: options } = parseArgs({
  options: {
    dtype: { type: "string", default: "fp16" },
    peers: { type: "string" },
    tiles: { type: "boolean", default: false },
    only: { type: "string", default: "" },
    device: { type: "string", default: "0" },
  },
});

function nameOf([batch, heads, queries, keys, dim, isCausal]: AttentionShape, dtype: Dtype): string {
  return `${dtype} ${batch}x${heads} ${queries}x${keys}x${dim}${isCausal ? " causal" : ""}`;
}

interface Call {
  readonly set: CallSet;
  readonly o: View;
}

function callOf(
  host: HarnessHost,
  shape: AttentionShape,
  storage: HalfStorage,
  tile: TensorTile | undefined,
): Call {
  const set = new CallSet(host, false);
  const o = emitHeads(set, shape, storage, tile);
  set.prepare();
  return { set, o };
}

function measure(host: HarnessHost, shape: AttentionShape, dtype: Dtype, tile?: TensorTile): TimedRow {
  const [batch, heads, queries, keys, dim, isCausal] = shape;
  const { storage, tolerance } = dtypes[dtype];
  const bytes = 4 * batch * heads * dim * (queries + keys);
  const calls = Array.from({ length: setCount(bytes, host.context.device.l2Bytes) }, () =>
    callOf(host, shape, storage, tile),
  );
  try {
    const us = timeCalls(
      host,
      calls.map(({ set }) => set),
      samplingBeside(options.peers),
    );
    const [first] = calls;
    if (first === undefined) throw new Error("no call");
    const name = nameOf(shape, dtype);
    const error = errorOf(host, first, shape, storage);
    if (!(error <= tolerance)) console.error(`WRONG ${name}: off by ${error}`);
    const flops = (4 * batch * heads * queries * keys * dim) / (isCausal ? 2 : 1);
    return {
      op: { op: "sdpa", B: batch, heads, S_q: queries, S_kv: keys, head_dim: dim, causal: isCausal, dtype },
      name,
      us,
      rate: `${(flops / us / 1e6).toFixed(1)} TFLOP/s`,
      kernel: first.set.steps.map(({ step }) => entryOf(step)).join(" + "),
      error,
    };
  } finally {
    for (const { set } of calls) set[Symbol.dispose]();
  }
}

const sampledRows = 8;
const sampledColumns = 8;

/** A few columns of rows all over the output, the last one among them. */
function errorOf(host: HarnessHost, { set, o }: Call, shape: AttentionShape, storage: HalfStorage): number {
  const [batch, heads, queries, keys, dim] = shape;
  const v = contentOf(host, storage, 3);
  let error = 0;
  for (const [row] of placesIn(batch * heads * queries, 1, sampledRows)) {
    const columns = placesIn(1, dim, sampledColumns).map(([, column]) => column);
    const got = set.read(
      o,
      columns.map((column) => row * dim + column),
    );
    const weights = weightsOf(host, shape, storage, row);
    const base = Math.floor(row / queries) * keys * dim;
    for (const [index, column] of columns.entries()) {
      let wanted = 0;
      for (let key = 0; key < weights.length; key++)
        wanted += (weights[key] ?? 0) * v.at(base + key * dim + column);
      const difference = Math.abs(wanted - (got[index] ?? Number.NaN));
      if (!(difference <= error)) error = difference;
    }
  }
  return error;
}

/** Of the keys that a row of queries sees; together 1. */
function weightsOf(
  host: HarnessHost,
  shape: AttentionShape,
  storage: HalfStorage,
  row: number,
): Float64Array {
  const [, , queries, keys, dim, isCausal] = shape;
  const [q, k] = [contentOf(host, storage, 1), contentOf(host, storage, 2)];
  const base = Math.floor(row / queries) * keys * dim;
  const weights = new Float64Array(isCausal ? Math.min(keys, (row % queries) + 1) : keys);
  for (let key = 0; key < weights.length; key++) {
    let sum = 0;
    for (let d = 0; d < dim; d++) sum += q.at(row * dim + d) * k.at(base + key * dim + d);
    weights[key] = sum / Math.sqrt(dim);
  }
  const largest = weights.reduce((a, b) => Math.max(a, b));
  const powers = weights.map((score) => Math.exp(score - largest));
  const total = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / total);
}

function entryOf({ action }: Step): string {
  return action.kind === "launch" ? action.launch.kernel.entry : action.kind;
}

/** Every tile that takes the shape, or the one that is chosen. */
function tilesFor([, , , , dim]: AttentionShape): (TensorTile | undefined)[] {
  if (!options.tiles) return [undefined];
  const fitting = tensorTiles.filter(({ headDim, isPlain }) => isPlain && headDim >= dim);
  const isSmallest = (tile: TensorTile) =>
    fitting.every((other) => isHopper(other) !== isHopper(tile) || other.headDim >= tile.headDim);
  return fitting.filter(isSmallest);
}

function isHopper({ hopper }: TensorTile): boolean {
  return hopper !== undefined;
}

function wantedDtypes(): Dtype[] {
  return options.dtype.split(",").map((name) => {
    if (!Object.hasOwn(dtypes, name))
      throw new Error(`--dtype ${name}: there are ${Object.keys(dtypes).join(", ")}`);
    return name as Dtype;
  });
}

const kernels = new URL("../cuda/", import.meta.url);
using host = await HarnessHost.open({ kernels, device: Number(options.device) });
const rows: TimedRow[] = [];
for (const dtype of wantedDtypes()) {
  for (const shape of shapes.filter((shape) => nameOf(shape, dtype).includes(options.only))) {
    for (const tile of tilesFor(shape)) rows.push(measure(host, shape, dtype, tile));
  }
}
report(options.tiles ? "attention-tiles" : "attention", rows, options.tiles ? undefined : options.peers);
