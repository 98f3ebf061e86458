/**
 * @file Resampling beside PyTorch's (searchsorted, gather, lerp) and the bandwidth of a copy, all measured in one run.
 *
 *     node dist/gpu/resample.js [--torch bench/gpu/torch_steps.py] [--sweep]
 *
 * Writes $OUT/resample.json. GB/s count each row that is asked for once, and each that is written. With --sweep every form of
 * the kernel is timed, else the one that plans launch.
 */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { bytesOfType, type FloatStorage } from "../../cuda-runtime/ir/storage.ts";
import type { View } from "../../cuda-runtime/ir/view.ts";
import {
  emitResample,
  plainWeight,
  type ResampleTuning,
} from "../../cuda-runtime/kernels/resample/resample.ts";
import { HarnessHost } from "../../cuda-runtime/session/harness.ts";
import {
  CallSet,
  contentOf,
  copyGigabytesPerSecond,
  setCount,
  timeCalls,
} from "../../cuda-runtime/session/kernel-timer.ts";
import {
  type ResampleSize,
  resampleElement,
  rowsAskedFor,
  targetTimes,
} from "../../src/gpu/ladder/resample.ts";
import { maxOf } from "../../src/ir/lists.ts";
import { timesBeside } from "./torch-steps.ts";

const { values: options } = parseArgs({
  options: {
    torch: { type: "string" },
    sweep: { type: "boolean", default: false },
    device: { type: "string", default: "0" },
  },
});

interface Size extends ResampleSize {
  readonly type: FloatStorage;
}

const small = { batch: 32, source: 500, target: 250, features: 256 };
const sizes: readonly Size[] = [
  { batch: 64, source: 4096, target: 1024, features: 1024, type: "bfloat16" },
  { ...small, type: "bfloat16" },
  { ...small, type: "float16" },
  { ...small, type: "float32" },
];

const planned = undefined;
const sweep: readonly (ResampleTuning | undefined)[] = [
  planned,
  {},
  { isByWarps: true },
  ...[2, 3, 8, 16].map((blocksPerMultiprocessor) => ({ blocksPerMultiprocessor })),
  ...[2, 4, 8, 16, 32].map((lanes) => ({ lanes })),
  { isStreamed: true },
  { isStreamed: true, blocksPerMultiprocessor: 8 },
  ...[2, 3, 6, 12].map((blocksPerMultiprocessor) => ({ isDeep: true, blocksPerMultiprocessor })),
  ...[3, 6].map((blocksPerMultiprocessor) => ({ isDeep: true, isStreamed: true, blocksPerMultiprocessor })),
  ...[1, 2, 3].map((blocksPerMultiprocessor) => ({ isBulk: true, blocksPerMultiprocessor })),
];

const dtypes: Readonly<Record<FloatStorage, string>> = { bfloat16: "bf16", float16: "fp16", float32: "fp32" };

interface Row {
  readonly name: string;
  readonly op: object;
  readonly tuning: ResampleTuning | undefined;
  readonly us: number;
  readonly bytes: number;
  readonly gbPerSecond: number;
  readonly error: number;
}

function measure(host: HarnessHost, size: Size, tuning: ResampleTuning | undefined): Row {
  const { batch, source, target, features, type } = size;
  const targets = targetTimes(size);
  const times = Float32Array.from({ length: source }, (_, at) => at);
  const rowBytes = features * bytesOfType(type);
  const bytes = (rowsAskedFor(size, targets) + batch * target) * rowBytes + 4 * batch * (source + target);
  const calls = Array.from({ length: setCount(bytes, host.context.device.l2Bytes) }, () => {
    const set = new CallSet(host, false);
    const x = set.tensor("input", type, [batch, source, features], 1);
    const y = set.output(type, [batch, target, features]);
    const lines = set.emitter.constant("float32", [batch, source], repeated(times, batch));
    const aims = set.emitter.constant("float32", [batch, target], [...targets]);
    const low = { shift: -1, least: 0, most: source - 2 };
    const high = { shift: 0, least: 1, most: source - 1 };
    const weight = { ...plainWeight, least: 0, most: 1 };
    emitResample(
      set.emitter,
      { x, y, times: lines, targets: aims, isInclusive: true, low, high, weight, blend: "oneProduct" },
      tuning,
    );
    set.prepare();
    return { set, y };
  });
  try {
    const us = timeCalls(
      host,
      calls.map(({ set }) => set),
    );
    const error = errorOf(host, calls[0], size, targets);
    const name = `${dtypes[type]} ${batch}x${source}->${target}x${features}`;
    const op = { op: "resample", batch, source, target, features, dtype: dtypes[type] };
    return { name, op, tuning, us, bytes, gbPerSecond: bytes / us / 1e3, error };
  } finally {
    for (const { set } of calls) set[Symbol.dispose]();
  }
}

function repeated(values: Float32Array, times: number): number[] {
  return Array.from({ length: times }, () => [...values]).flat();
}

const samples = 64;

function errorOf(
  host: HarnessHost,
  call: { readonly set: CallSet; readonly y: View } | undefined,
  { batch, source, target, features, type }: Size,
  targets: Float32Array,
): number {
  if (call === undefined) throw new Error("no call");
  const x = contentOf(host, type, 1);
  const total = batch * target * features;
  const places = Array.from({ length: samples }, (_, i) => (i * 2_654_435_761 + total - 1) % total);
  const got = call.set.read(call.y, places);
  const expected = resampleElement({ batch, source, target, features }, targets, x);
  return maxOf(places.map((place, index) => Math.abs(expected(place) - (got[index] ?? Number.NaN))));
}

using host = await HarnessHost.open({
  kernels: new URL("../cuda/", import.meta.url),
  device: Number(options.device),
});
const copy = copyGigabytesPerSecond(host);
const rows = sizes.flatMap((size) =>
  (options.sweep ? sweep : [planned]).map((tuning) => measure(host, size, tuning)),
);
const peers = timesBeside(
  rows.map(({ op }) => op),
  options.torch,
);
const whole = rows.map((row, at) => ({ ...row, ofCopy: row.gbPerSecond / copy, torch: peers[at] ?? null }));
console.log(`copy: ${copy.toFixed(0)} GB/s`);
for (const { name, tuning, us, gbPerSecond, ofCopy, error, torch } of whole) {
  const ratio = torch === null ? "" : `, ${(torch.us / us).toFixed(2)}x of PyTorch's ${torch.us} us`;
  const form = tuning === undefined ? "" : ` ${JSON.stringify(tuning)}`;
  console.log(
    `${name}${form}: ${us.toFixed(2)} us, ${gbPerSecond.toFixed(0)} GB/s, ${(100 * ofCopy).toFixed(1)} % of a copy${ratio}, error ${error.toExponential(1)}`,
  );
}
const json = JSON.stringify({ copyGbPerSecond: copy, rows: whole }, null, 1);
writeFileSync(path.join(process.env["OUT"] ?? ".", "resample.json"), `${json}\n`);
