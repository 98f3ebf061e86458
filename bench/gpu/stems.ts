/**
 * @file Convolutions of few channels by each kernel over planes, beside rows widened for the other kernels and windows as rows of a product:
 * the launch that packs the image, the product, and both.
 *
 *     node dist/gpu/stems.js [--only PART,…] [--chosen]
 *
 * Writes $OUT/stems.json. GB/s of a launch count what it reads and writes. --chosen leaves out kernels that are not predicted to be
 * the fastest. Results are right or not in test/gpu/cases/conv.ts.
 */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { aloneMicroseconds, movedBytes } from "../../cuda-runtime/cost/predict.ts";
import type { Emitter } from "../../cuda-runtime/ir/emitter.ts";
import { plainEpilogue } from "../../cuda-runtime/ir/epilogue.ts";
import { bytesOfType, type FloatStorage } from "../../cuda-runtime/ir/storage.ts";
import { permuted } from "../../cuda-runtime/ir/view.ts";
import {
  type ConvRequest,
  emitConvPatches,
  emitConvPlanes,
  emitConvWidened,
} from "../../cuda-runtime/kernels/conv/conv.ts";
import { planeTiles } from "../../cuda-runtime/kernels/conv/planes-table.ts";
import { HarnessHost } from "../../cuda-runtime/session/harness.ts";
import { CallSet, setCount, timeCalls } from "../../cuda-runtime/session/kernel-timer.ts";

const { values: options } = parseArgs({
  options: {
    only: { type: "string" },
    chosen: { type: "boolean", default: false },
    device: { type: "string", default: "0" },
  },
});

type Listed = readonly [
  batch: number,
  channels: number,
  size: number,
  filters: number,
  taps: number,
  stride: number,
  source: FloatStorage,
];

const stems: readonly Listed[] = [
  [32, 3, 224, 64, 7, 2, "float16"],
  [32, 3, 224, 64, 7, 2, "float32"],
  [1, 3, 224, 64, 7, 2, "float32"],
  [32, 3, 224, 32, 3, 2, "float16"],
  [32, 3, 640, 32, 3, 2, "float16"],
  [32, 3, 640, 64, 3, 2, "float16"],
  [1, 3, 640, 32, 3, 2, "float32"],
  [8, 3, 640, 16, 3, 2, "float32"],
  [8, 3, 256, 64, 3, 1, "float16"],
  [32, 3, 224, 64, 3, 1, "float16"],
  [8, 3, 512, 96, 7, 2, "float16"],
  [8, 1, 256, 32, 3, 1, "float16"],
  [2, 4, 128, 320, 3, 1, "float16"],
  [1, 4, 64, 320, 3, 1, "float16"],
  [32, 3, 224, 1152, 14, 14, "float32"],
  [1, 3, 224, 1152, 14, 14, "float32"],
  [32, 3, 224, 192, 16, 16, "float32"],
  [1, 3, 224, 192, 16, 16, "float32"],
  [8, 3, 384, 1024, 16, 16, "float32"],
  [32, 3, 224, 96, 4, 4, "float32"],
  [1, 3, 224, 96, 4, 4, "float32"],
];

interface Way {
  readonly name: string;
  readonly emit: (emitter: Emitter, request: ConvRequest) => boolean;
}

const ways: readonly Way[] = [
  { name: "chosen planes", emit: (emitter, request) => emitConvPlanes(emitter, request) },
  ...planeTiles
    .filter(({ math }) => math === "f16" && !options.chosen)
    .map((tile) => ({
      name: tile.entry,
      emit: (emitter: Emitter, request: ConvRequest) =>
        emitConvPlanes(emitter, request, (each) => each === tile),
    })),
  {
    name: "widened rows",
    emit: (emitter, request) => {
      emitConvWidened(emitter, request);
      return true;
    },
  },
  { name: "patches", emit: (emitter, request) => emitConvPatches(emitter, request) },
];

/** Undefined where the way does not take it. */
function callOf(host: HarnessHost, stem: Listed, way: Way): CallSet | undefined {
  const [batch, channels, size, filters, taps, stride, source] = stem;
  const set = new CallSet(host, false);
  const pad = taps === stride ? 0 : (taps - 1) / 2;
  const positions = Math.floor((size + 2 * pad - taps) / stride) + 1;
  const y = set.output("float16", [batch, positions, positions, filters]);
  const request: ConvRequest = {
    x: set.tensor("input", source, [batch, channels, size, size], 1),
    w: set.tensor("constant", "float16", [filters, channels, taps, taps], 2),
    to: permuted(y, [0, 3, 1, 2]),
    strides: [stride, stride],
    dilations: [1, 1],
    pads: [pad, pad],
    groups: 1,
    operands: "float16",
    epilogue: {
      ...plainEpilogue,
      bias: set.tensor("constant", "float32", [filters], 3),
      activation: { kind: "relu", a: 0, b: 0 },
    },
  };
  if (!way.emit(set.emitter, request)) {
    set[Symbol.dispose]();
    return undefined;
  }
  set.prepare();
  return set;
}

interface Timed {
  readonly what: string;
  readonly us: number;
  readonly predicted: number;
  readonly gigabytesPerSecond: number;
}

/** Of the launches one by one, and of all together. */
function timesOf(host: HarnessHost, calls: readonly CallSet[]): Timed[] {
  const whole = calls.map(({ steps }) => steps);
  const count = whole[0]?.length ?? 0;
  const parts = Array.from({ length: count }, (_, at) => [at, at + 1] as const);
  return [...parts, [0, count] as const].map(([from, to]) => {
    for (const [index, set] of calls.entries()) set.steps = whole[index]?.slice(from, to) ?? [];
    const us = timeCalls(host, calls);
    const actions = (whole[0] ?? []).slice(from, to).map(({ step }) => step.action);
    const bytes = actions.reduce((sum, action) => sum + movedBytes(action), 0);
    const predicted = actions.reduce((sum, action) => sum + aloneMicroseconds(action, host.target), 0);
    const names = actions.map((action) => (action.kind === "launch" ? action.launch.kernel.entry : "clear"));
    return { what: names.join(" + "), us, predicted, gigabytesPerSecond: bytes / us / 1e3 };
  });
}

using host = await HarnessHost.open({
  kernels: new URL("../cuda/", import.meta.url),
  device: Number(options.device),
});
const parts = options.only?.split(",");
const rows = stems.flatMap((stem) => {
  const [batch, channels, size, filters, taps, stride, source] = stem;
  const name = `${batch}x${channels}x${size}² of ${source} -> ${filters}, ${taps}x${taps} / ${stride}`;
  if (parts?.some((part) => name.includes(part)) === false) return [];
  const outputs = 2 * batch * Math.ceil(size / stride) ** 2 * filters;
  const bytes = batch * size * size * channels * bytesOfType(source) + outputs;
  return ways.flatMap((way) => {
    const calls = Array.from({ length: setCount(bytes, host.context.device.l2Bytes) }, () =>
      callOf(host, stem, way),
    ).filter((call) => call !== undefined);
    if (calls.length === 0) return [];
    const times = timesOf(host, calls);
    for (const call of calls) call[Symbol.dispose]();
    for (const { what, us, predicted, gigabytesPerSecond } of times)
      console.log(
        `${name}, ${way.name}: ${what}: ${us.toFixed(2)} us (predicted ${predicted.toFixed(1)}), ${gigabytesPerSecond.toFixed(0)} GB/s`,
      );
    return [{ name, way: way.name, times }];
  });
});
writeFileSync(path.join(process.env["OUT"] ?? ".", "stems.json"), JSON.stringify(rows, null, 1));
