/**
 * @file Products of int8 and of 8-bit floats beside our own of halves, and beside PyTorch's: y = x Wᵀ with constant weights.
 *
 *     node dist/gpu/int8.js [--only MxNxK,…] [--torch bench/gpu/int8_torch.py]
 *
 * Writes $OUT/int8.json: rows {M, N, K, from, dtype, us, tflops, halfUs, peerUs}. PyTorch: torch._int_mm and
 * torch._scaled_mm, timed in the same run in the same manner. int8 is stored requantized to int8, floats as float16.
 */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import type { StorageType } from "../../cuda-runtime/ir/storage.ts";
import { permuted } from "../../cuda-runtime/ir/view.ts";
import { emitCodeProduct, multipliesCodes } from "../../cuda-runtime/kernels/gemm-int8/code-product.ts";
import { HarnessHost } from "../../cuda-runtime/session/harness.ts";
import { CallSet, setCount, timeCalls } from "../../cuda-runtime/session/kernel-timer.ts";
import { emitProduct } from "./operations.ts";

const listed: readonly (readonly [number, number, number, string])[] = [
  [4096, 4096, 4096, "square"],
  [8192, 8192, 8192, "square"],
  [4096, 768, 768, "BERT base, batch 32"],
  [4096, 3072, 768, "BERT base, batch 32, up"],
  [4096, 768, 3072, "BERT base, batch 32, down"],
  [128, 768, 768, "BERT base, 128 tokens"],
  [100352, 64, 256, "ResNet-50, batch 32, layer 1, 1x1"],
  [25088, 512, 128, "ResNet-50, batch 32, layer 2, 1x1"],
  [6272, 1024, 256, "ResNet-50, batch 32, layer 3, 1x1"],
  [1568, 512, 2048, "ResNet-50, batch 32, layer 4, 1x1"],
];
const dtypes = { fp16: "float16", int8: "int8", fp8: "float8e4m3fn" } as const;
type Dtype = keyof typeof dtypes;

const { values: options } = parseArgs({
  options: { only: { type: "string" }, torch: { type: "string" }, device: { type: "string", default: "0" } },
});

interface Row {
  readonly M: number;
  readonly N: number;
  readonly K: number;
  readonly from: string;
  readonly dtype: Dtype;
  readonly us: number;
  readonly tflops: number;
}

function callOf(
  host: HarnessHost,
  [M, N, K]: readonly [number, number, number, string],
  dtype: Dtype,
): CallSet {
  const set = new CallSet(host, false);
  const type: StorageType = dtypes[dtype];
  if (type === "float16") {
    emitProduct(set, { M, N, K }, type);
  } else {
    const x = set.tensor("input", type, [M, K], 1);
    const w = set.tensor("constant", type, [N, K], 2);
    const to = set.output(type === "int8" ? "int8" : "float16", [M, N]);
    const scale = set.emitter.constant("float32", [1], [1 / (64 * K)]);
    emitCodeProduct(set.emitter, { a: x, b: permuted(w, [1, 0]), to, epilogue: { scale } });
  }
  set.prepare();
  return set;
}

function measure(host: HarnessHost, shape: readonly [number, number, number, string], dtype: Dtype): Row {
  const [M, N, K, from] = shape;
  const bytes = dtype === "fp16" ? 2 : 1;
  const count = setCount(bytes * (M * K + N * K) + 2 * M * N, host.context.device.l2Bytes);
  const calls = Array.from({ length: count }, () => callOf(host, shape, dtype));
  try {
    const us = timeCalls(host, calls);
    const tflops = Math.round((2 * M * N * K) / us / 1e4) / 100;
    return { M, N, K, from, dtype, us: Math.round(1000 * us) / 1000, tflops };
  } finally {
    for (const set of calls) set[Symbol.dispose]();
  }
}

/** PyTorch's microseconds, in the order of the rows; null for what it does not do. */
function peersOf(rows: readonly Row[], script: string): (number | null)[] {
  const child = spawnSync("python3", [script], {
    input: JSON.stringify(rows),
    encoding: "utf8",
    maxBuffer: 2 ** 26,
  });
  if (child.status !== 0) throw new Error(`${script}: ${child.stderr.slice(-2000)}`);
  const times: { us: number | null }[] = JSON.parse(child.stdout);
  return times.map(({ us }) => us);
}

const kernels = new URL("../cuda/", import.meta.url);
using host = await HarnessHost.open({ kernels, device: Number(options.device) });
const only = options.only?.split(",");
const rows: Row[] = [];
for (const shape of listed) {
  if (only !== undefined && !only.includes(shape.slice(0, 3).join("x"))) continue;
  for (const dtype of Object.keys(dtypes) as Dtype[]) {
    const type = dtypes[dtype];
    if (type !== "float16" && !multipliesCodes(type, type, host.target)) continue;
    rows.push(measure(host, shape, dtype));
  }
}
const peers = options.torch === undefined ? [] : peersOf(rows, options.torch);
const whole = rows.map((row, index) => {
  const half = rows.find(
    ({ M, N, K, dtype }) => dtype === "fp16" && M === row.M && N === row.N && K === row.K,
  );
  return { ...row, halfUs: half?.us ?? null, peerUs: peers[index] ?? null };
});
for (const { M, N, K, dtype, us, tflops, halfUs, peerUs, from } of whole) {
  const ofHalf = halfUs === null ? "" : `, ${(halfUs / us).toFixed(2)}x our fp16`;
  const ofPeer = peerUs === null ? "" : `, ${(peerUs / us).toFixed(2)}x of PyTorch's ${peerUs}`;
  console.log(`${dtype} ${M}x${N}x${K}: ${us} us, ${tflops} TFLOP/s${ofHalf}${ofPeer} (${from})`);
}
writeFileSync(path.join(process.env["OUT"] ?? ".", "int8.json"), JSON.stringify(whole, null, 1));
