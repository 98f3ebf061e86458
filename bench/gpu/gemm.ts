/**
 * @file Products of matrices: zoo layers, squares and misaligned sizes, y = x Wᵀ with constant weights.
 *
 *     node dist/gpu/gemm.js [--dtype fp16,bf16,tf32] [--sweep] [--kind hopper] [--entries s64x64x64,…] [--splits 4] [--only MxNxK,…]
 *         [--sizes MxNxK[:gelu|:residual],…] [--pitches X/W,…] [--peers FOLDER]
 *
 * Writes $OUT/gemm.json: rows {op, M, N, K, dtype, us, tflops, kernel, predicted, error}, and $OUT/ops.json, which
 * torch_ops.py reads. With --peers (the folder of torch_ops.py) its times stand beside ours. --sweep times every kernel
 * of the table (of one kind, of these tiles) on every shape: what the cost model is fitted to and checked against. At the end it says,
 * shape by shape, which was fastest and what the choice loses to it. --sizes takes others than the list's, with a bias and GELU, or a bias
 * and a residual. --pitches times every shape with rows of x and of W that begin at multiples of so many elements (64/8: x of 128 bytes, W of 16).
 */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { type Candidate, cheapest } from "../../cuda-runtime/cost/candidate.ts";
import { erfValue } from "../../cuda-runtime/ir/expr-value.ts";
import type { FloatStorage } from "../../cuda-runtime/ir/storage.ts";
import type { View } from "../../cuda-runtime/ir/view.ts";
import { type Choice, describeChoice } from "../../cuda-runtime/kernels/gemm/choose.ts";
import { type GemmRow, gemmTable } from "../../cuda-runtime/kernels/gemm/table.ts";
import { HarnessHost } from "../../cuda-runtime/session/harness.ts";
import {
  CallSet,
  contentOf,
  placesIn,
  setCount,
  timeCalls,
} from "../../cuda-runtime/session/kernel-timer.ts";
import { geometricMean, peerTimes, samplingBeside } from "./beside-torch.ts";
import {
  emitProduct,
  noPitches,
  type Pitches,
  type ProductEnd,
  type ProductSize,
  pitchOf,
  productEnds,
} from "./operations.ts";

interface Shape extends ProductSize {
  readonly from: string;
  readonly end: ProductEnd;
  readonly pitches: Pitches;
}

/** M, N, K and where it is from. */
const listed: readonly (readonly [number, number, number, string])[] = [
  [128, 768, 768, "BERT base, 128 tokens, attention"],
  [128, 3072, 768, "BERT base, up"],
  [128, 768, 3072, "BERT base, down"],
  [4096, 768, 768, "BERT base, batch 32"],
  [4096, 3072, 768, "BERT base, batch 32, up"],
  [4096, 768, 3072, "BERT base, batch 32, down"],
  [197, 2304, 768, "ViT-B/16, qkv"],
  [6304, 2304, 768, "ViT-B/16, batch 32, qkv"],
  [6304, 3072, 768, "ViT-B/16, batch 32, up"],
  [1024, 3072, 768, "GPT-2, 1024 tokens, up"],
  [1024, 50264, 768, "GPT-2, head, padded"],
  [1, 4096, 4096, "Llama, one token"],
  [1, 11008, 4096, "Llama, one token, up"],
  [16, 4096, 4096, "Llama, 16 tokens"],
  [512, 4096, 4096, "Llama, 512 tokens"],
  [512, 11008, 4096, "Llama, 512 tokens, up"],
  [729, 1152, 1152, "SigLIP so400m, attention"],
  [729, 4304, 1152, "SigLIP so400m, up"],
  [3136, 384, 96, "Swin tiny, stage 1, up"],
  [100352, 384, 96, "Swin tiny, batch 32, stage 1, up"],
  [49, 3072, 768, "Swin tiny, stage 4, up"],
  [1500, 2048, 512, "Whisper base, encoder, up"],
  [448, 51864, 512, "Whisper base, head, padded"],
  [3136, 96, 384, "ConvNeXt tiny, stage 1, down"],
  [25088, 1536, 384, "ConvNeXt tiny, batch 32, stage 3, up"],
  [32, 1000, 2048, "ResNet-50, classifier, batch 32"],
  [2048, 1024, 416, "DLRM, top MLP"],
  [1024, 1024, 1024, "square"],
  [2048, 2048, 2048, "square"],
  [4096, 4096, 4096, "square"],
  [8192, 8192, 8192, "square"],
  [4096, 4096, 4097, "misaligned"],
  [4096, 4097, 4096, "misaligned"],
  [4095, 4097, 4099, "misaligned"],
  [2048, 1024, 415, "DLRM, top MLP, misaligned"],
  [1024, 50257, 768, "GPT-2, head, misaligned"],
  [1024, 30522, 768, "BERT, head, misaligned"],
  [4096, 2730, 1024, "Llama-like MLP, misaligned"],
  [4096, 1024, 2730, "Llama-like MLP, misaligned"],
  [128, 255, 511, "misaligned"],
  [1000, 333, 777, "misaligned"],
  [64, 4100, 1030, "misaligned"],
  [8192, 67, 129, "misaligned"],
  [512, 1001, 2047, "misaligned"],
];

const dtypes = {
  fp16: { storage: "float16", tf32: false, peer: "fp16", tolerance: 2e-3 },
  bf16: { storage: "bfloat16", tf32: false, peer: "bf16", tolerance: 1.6e-2 },
  tf32: { storage: "float32", tf32: true, peer: "fp32", tolerance: 2e-3 },
  fp32: { storage: "float32", tf32: false, peer: "fp32", tolerance: 1e-5 },
} as const satisfies Record<
  string,
  { storage: FloatStorage; tf32: boolean; peer: string; tolerance: number }
>;

type Dtype = keyof typeof dtypes;

interface Row {
  readonly op: "gemm";
  readonly M: number;
  readonly N: number;
  readonly K: number;
  readonly dtype: Dtype;
  readonly from: string;
  readonly end: ProductEnd;
  readonly pitches: Pitches;
  readonly us: number;
  readonly tflops: number;
  readonly kernel: string;
  readonly predicted: number;
  /** Of sampled elements, the largest, relative to the largest element. */
  readonly error: number;
  readonly peerUs?: number | null | undefined;
}

const { values: options } = parseArgs({
  options: {
    dtype: { type: "string", default: "fp16" },
    only: { type: "string" },
    sizes: { type: "string" },
    sweep: { type: "boolean", default: false },
    kind: { type: "string" },
    entries: { type: "string" },
    splits: { type: "string" },
    pitches: { type: "string" },
    peers: { type: "string" },
    device: { type: "string", default: "0" },
  },
});
const out = process.env["OUT"] ?? ".";

function givenShape(text: string): Shape {
  const match = /^(\d+)x(\d+)x(\d+)(?::(\w+))?$/.exec(text);
  const end = productEnds.find((name) => name === (match?.[4] ?? "plain"));
  if (match === null || end === undefined)
    throw new Error(`--sizes ${text}: expected MxNxK, and :${productEnds.join(" or :")} behind it`);
  return {
    M: Number(match[1]),
    N: Number(match[2]),
    K: Number(match[3]),
    from: "given",
    end,
    pitches: noPitches,
  };
}

function wantedShapes(): Shape[] {
  if (options.sizes !== undefined) return options.sizes.split(",").map(givenShape);
  const only = options.only?.split(",");
  return listed
    .map(([M, N, K, from]) => ({ M, N, K, from, end: "plain" as const, pitches: noPitches }))
    .filter(({ M, N, K }) => only === undefined || only.includes(`${M}x${N}x${K}`));
}

function wantedPitches(): Pitches[] {
  return options.pitches === undefined
    ? [noPitches]
    : options.pitches.split(",").map((text) => {
        const match = /^(\d+)\/(\d+)$/.exec(text);
        if (match === null) throw new Error(`--pitches ${text}: expected ELEMENTS/ELEMENTS, of x and of W`);
        return { x: Number(match[1]), w: Number(match[2]) };
      });
}

function wantedDtypes(): Dtype[] {
  return options.dtype.split(",").map((name) => {
    if (!Object.hasOwn(dtypes, name))
      throw new Error(`--dtype ${name}: there are ${Object.keys(dtypes).join(", ")}`);
    return name as Dtype;
  });
}

/** One set of operands and its launches; what was chosen. */
interface Call {
  readonly set: CallSet;
  readonly output: View;
  readonly best: Candidate<Choice>;
}

function callOf(host: HarnessHost, shape: Shape, dtype: Dtype, row: GemmRow | undefined): Call {
  const { storage, tf32 } = dtypes[dtype];
  const set = new CallSet(host, tf32);
  const accepted: Candidate<Choice>[] = [];
  const accepts = (launch: Choice, microseconds: number): boolean => {
    if (row !== undefined && launch.row !== row) return false;
    if (options.splits !== undefined && launch.splits !== Number(options.splits)) return false;
    accepted.push({ launch, microseconds });
    return true;
  };
  const output = emitProduct(set, shape, storage, accepts, shape.end, shape.pitches);
  const best = cheapest(accepted);
  if (best === undefined) throw new Error("nothing was chosen");
  set.prepare();
  return { set, output, best };
}

function measure(host: HarnessHost, shape: Shape, dtype: Dtype, row?: GemmRow): Row {
  const { M, N, K, from, end, pitches } = shape;
  const { storage } = dtypes[dtype];
  const size = storage === "float32" ? 4 : 2;
  const count = setCount(size * (M * K + N * K + M * N), host.context.device.l2Bytes);
  const calls = Array.from({ length: count }, () => callOf(host, shape, dtype, row));
  try {
    const us = timeCalls(
      host,
      calls.map(({ set }) => set),
      samplingBeside(options.peers),
    );
    const [first] = calls;
    if (first === undefined) throw new Error("no call");
    return {
      op: "gemm",
      M,
      N,
      K,
      dtype,
      from,
      end,
      pitches,
      us: Math.round(1000 * us) / 1000,
      tflops: Math.round((2 * M * N * K) / us / 1e4) / 100,
      kernel: describeChoice(first.best.launch),
      predicted: Math.round(100 * first.best.microseconds) / 100,
      error: errorOf(host, first, shape, dtype),
    };
  } finally {
    for (const { set } of calls) set[Symbol.dispose]();
  }
}

/** A sum as it is stored. */
function endedAt(
  host: HarnessHost,
  { N, end }: Shape,
  storage: FloatStorage,
): (sum: number, m: number, n: number) => number {
  const [bias, residual] = [contentOf(host, "float32", 3), contentOf(host, storage, 4)];
  const ends: Readonly<Record<ProductEnd, (sum: number, m: number, n: number) => number>> = {
    plain: (sum) => sum,
    gelu: (sum, _, n) => geluOf(sum + bias.at(n)),
    residual: (sum, m, n) => sum + bias.at(n) + residual.at(m * N + n),
  };
  return ends[end];
}

function geluOf(x: number): number {
  return 0.5 * x * (1 + erfValue(x / Math.SQRT2));
}

function errorOf(host: HarnessHost, { set, output }: Call, shape: Shape, dtype: Dtype): number {
  const { M, N, K, pitches } = shape;
  const [xPitch, wPitch] = [pitchOf(K, pitches.x), pitchOf(K, pitches.w)];
  const { storage, tolerance } = dtypes[dtype];
  const ended = endedAt(host, shape, storage);
  const [x, w] = [contentOf(host, storage, 1), contentOf(host, storage, 2)];
  const places = placesIn(M, N);
  const got = set.read(
    output,
    places.map(([m, n]) => m * N + n),
  );
  let [error, largest] = [0, 0];
  for (const [index, [m, n]] of places.entries()) {
    let sum = 0;
    for (let k = 0; k < K; k++) sum += x.at(m * xPitch + k) * w.at(n * wPitch + k);
    const wanted = ended(sum, m, n);
    const difference = Math.abs(wanted - (got[index] ?? Number.NaN));
    if (!(difference <= error)) error = difference;
    largest = Math.max(largest, Math.abs(wanted));
  }
  const relative = error / largest;
  if (!(relative <= tolerance)) console.error(`WRONG ${M}x${N}x${K} ${dtype}: off by ${relative}`);
  return relative;
}

function show({ M, N, K, end, pitches, dtype, us, tflops, kernel, predicted, peerUs, error }: Row): void {
  const ratio = peerUs ? ` ${(peerUs / us).toFixed(2)}x of ${peerUs}` : "";
  const pitch = pitches === noPitches ? "" : ` pitches ${pitches.x}/${pitches.w}`;
  const line = `${dtype} ${M}x${N}x${K}${end === "plain" ? "" : ` ${end}`}${pitch}: ${us} us (predicted ${predicted})${ratio}, ${tflops} TFLOP/s`;
  console.log(`${line}, error ${error.toExponential(1)}, ${kernel}`);
}

/** As torch_ops.py reads them. */
function opsOf(rows: readonly Row[]): object[] {
  return rows.map(({ op, M, N, K, dtype }) => ({ op, M, N, K, dtype: dtypes[dtype].peer }));
}

function compare(rows: readonly Row[], folder: string): Row[] {
  const times = peerTimes(opsOf(rows), folder);
  const compared = rows.map((row, index) => ({ ...row, peerUs: times[index] ?? null }));
  for (const row of compared) show(row);
  const ratios = (wanted: boolean) =>
    compared.flatMap(({ from, us, peerUs }) =>
      from.includes("misaligned") === wanted && peerUs ? [peerUs / us] : [],
    );
  for (const [name, isMisaligned] of [
    ["aligned", false],
    ["misaligned", true],
  ] as const) {
    const all = ratios(isMisaligned);
    if (all.length > 0)
      console.log(`${name}: ${geometricMean(all).toFixed(3)}x of PyTorch over ${all.length} rows`);
  }
  return compared;
}

/** Every kernel of the table that takes the shape. */
function* sweep(host: HarnessHost, shape: Shape, dtype: Dtype): Generator<Row> {
  const entries = options.entries?.split(",");
  for (const row of gemmTable) {
    if (options.kind !== undefined && options.kind !== row.kind) continue;
    if (entries !== undefined && (row.kind === "skinny" || !entries.includes(row.tile))) continue;
    try {
      yield measure(host, shape, dtype, row);
    } catch (error) {
      if (!(error instanceof Error && error.message.includes("no kernel is accepted"))) throw error;
    }
  }
}

/** Of rows of one shape and type: the fastest, and the one that would be chosen. */
function showBest(swept: readonly Row[]): void {
  const fastest = swept.toSorted((x, y) => x.us - y.us)[0];
  const chosen = swept.toSorted((x, y) => x.predicted - y.predicted)[0];
  if (fastest === undefined || chosen === undefined) return;
  const { M, N, K, dtype } = fastest;
  const loss = `${(chosen.us / fastest.us).toFixed(3)}x for the chosen ${chosen.kernel.split(", ")[1]}`;
  console.log(`BEST ${dtype} ${M}x${N}x${K}: ${fastest.us} us, ${fastest.kernel.split(", ")[1]}; ${loss}`);
}

const kernels = new URL("../cuda/", import.meta.url);
using host = await HarnessHost.open({ kernels, device: Number(options.device) });
let rows: Row[] = [];
for (const dtype of wantedDtypes()) {
  for (const shape of wantedShapes().flatMap((shape) =>
    wantedPitches().map((pitches) => ({ ...shape, pitches })),
  )) {
    const own: Row[] = [];
    for (const row of options.sweep ? sweep(host, shape, dtype) : [measure(host, shape, dtype)]) {
      show(row);
      own.push(row);
    }
    if (options.sweep) showBest(own);
    rows.push(...own);
  }
}
if (options.peers !== undefined && !options.sweep) rows = compare(rows, options.peers);
writeFileSync(path.join(out, options.sweep ? "gemm-sweep.json" : "gemm.json"), JSON.stringify(rows, null, 1));
writeFileSync(path.join(out, "ops.json"), JSON.stringify(opsOf(rows)));
