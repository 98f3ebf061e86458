/**
 * @file Convolutions beside PyTorch's: layers of the zoo at batch 1 and 32, and misaligned ones; channels last, with bias.
 *
 *     node dist/gpu/conv.js [--dtype fp16,bf16,tf32,fp32] [--only PART,…] [--sizes NxCxSIZExKxTAPS,…] [--sweep [--family NAME,…]]
 *         [--peers FOLDER]
 *
 * Writes $OUT/conv.json and $OUT/conv-misaligned.json. With --peers (the folder of torch_ops.py) its times stand beside
 * ours. --only takes rows whose name has one of these parts. --sweep times every kernel of the table (of these families) on every row,
 * with the time that the cost model predicts in the name: what choose.ts is checked against.
 */

import { parseArgs } from "node:util";
import { aloneMicroseconds } from "../../cuda-runtime/cost/predict.ts";
import { OperandError } from "../../cuda-runtime/ir/operand-error.ts";
import type { Step } from "../../cuda-runtime/ir/step.ts";
import { bytesOfType, type FloatStorage } from "../../cuda-runtime/ir/storage.ts";
import { elementCount, type View } from "../../cuda-runtime/ir/view.ts";
import type { ConvChoice } from "../../cuda-runtime/kernels/conv/choose.ts";
import { type ConvTile, convTiles } from "../../cuda-runtime/kernels/conv/table.ts";
import { HarnessHost } from "../../cuda-runtime/session/harness.ts";
import {
  CallSet,
  contentOf,
  placesIn,
  setCount,
  timeCalls,
} from "../../cuda-runtime/session/kernel-timer.ts";
import { report, samplingBeside, type TimedRow } from "./beside-torch.ts";
import { emitLayer, type Layer, outputSize } from "./operations.ts";

interface NamedLayer extends Layer {
  readonly from: string;
  /** Of all `batches` unless given. */
  readonly batch?: number;
}

type Listed = readonly [
  from: string,
  channels: number,
  size: number | readonly number[],
  filters: number,
  taps: number,
  stride: number,
  pad: number,
  groups?: number,
];

const zoo: readonly Listed[] = [
  ["resnet50 stem", 3, 224, 64, 7, 2, 3],
  ["resnet50 stage 1, 1x1", 64, 56, 256, 1, 1, 0],
  ["resnet50 stage 1, 3x3", 64, 56, 64, 3, 1, 1],
  ["resnet50 stage 2, 3x3 of stride 2", 128, 56, 128, 3, 2, 1],
  ["resnet50 stage 2, 3x3", 128, 28, 128, 3, 1, 1],
  ["resnet50 stage 3, 1x1 of stride 2", 512, 28, 1024, 1, 2, 0],
  ["resnet50 stage 3, 3x3", 256, 14, 256, 3, 1, 1],
  ["resnet50 stage 4, 3x3", 512, 7, 512, 3, 1, 1],
  ["resnet50 stage 4, 1x1", 2048, 7, 512, 1, 1, 0],
  ["vgg11, 3x3", 128, 56, 256, 3, 1, 1],
  ["vgg11, last 3x3", 512, 14, 512, 3, 1, 1],
  ["mobilenet_v2, expand", 24, 56, 144, 1, 1, 0],
  ["mobilenet_v2, project", 384, 14, 64, 1, 1, 0],
  ["mobilenet_v2, depthwise 3x3", 144, 56, 144, 3, 1, 1, 144],
  ["mobilenet_v2, depthwise 3x3 of stride 2", 192, 28, 192, 3, 2, 1, 192],
  ["efficientnet_b0, depthwise 5x5", 240, 28, 240, 5, 1, 2, 240],
  ["efficientnet_b0, project", 672, 14, 112, 1, 1, 0],
  ["convnext_tiny, depthwise 7x7", 96, 56, 96, 7, 1, 3, 96],
  ["convnext_tiny, patches", 3, 224, 96, 4, 4, 0],
  ["densenet121, 3x3", 128, 28, 32, 3, 1, 1],
  ["densenet121, 1x1", 512, 14, 128, 1, 1, 0],
  ["googlenet, 5x5", 32, 14, 96, 5, 1, 2],
  ["inception_v3, 3x3", 96, 35, 96, 3, 1, 1],
  ["inception_v3 stem", 32, 149, 32, 3, 1, 0],
  ["regnety_004, grouped", 104, 28, 104, 3, 1, 1, 13],
  ["resnext50, grouped", 256, 28, 256, 3, 1, 1, 32],
  ["squeezenet, expand 3x3", 48, 27, 192, 3, 1, 1],
  ["shufflenet_v2, 1x1", 116, 28, 116, 1, 1, 0],
  ["yolo, 3x3", 64, 80, 64, 3, 1, 1],
  ["yolo, deep 3x3", 256, 40, 256, 3, 1, 1],
  ["deeplabv3, 3x3", 2048, 28, 256, 3, 1, 1],
  ["seg_unet, 3x3", 64, 128, 64, 3, 1, 1],
  ["sd_unet, 3x3", 320, 64, 320, 3, 1, 1],
  ["sd_unet, middle 3x3", 1280, 16, 1280, 3, 1, 1],
  ["sd_unet, 3x3 after a skip", 2560, 16, 1280, 3, 1, 1],
  ["c3d, 3x3x3", 64, [16, 56, 56], 128, 3, 1, 1],
  ["tcn, along one axis", 64, [2000], 64, 3, 1, 1],
];

const misaligned: readonly Listed[] = [
  ["misaligned_cnn, 3x3", 67, 56, 129, 3, 1, 1],
  ["misaligned_cnn, deep 3x3", 129, 28, 251, 3, 1, 1],
  ["seg_unet of width 30, 3x3", 30, 128, 60, 3, 1, 1],
  ["seg_unet of width 30, deep 3x3", 60, 64, 60, 3, 1, 1],
  ["yolo_w0375, 3x3", 50, 80, 50, 3, 1, 1],
  ["yolo head", 256, 40, 255, 1, 1, 0],
  ["head of 21 classes", 64, 64, 21, 1, 1, 0],
  ["255 channels, 3x3", 255, 28, 255, 3, 1, 1],
  ["255 channels, 1x1", 255, 40, 256, 1, 1, 0],
  ["36 channels, 3x3", 36, 80, 36, 3, 1, 1],
  ["125 channels, 3x3 of stride 2", 125, 56, 250, 3, 2, 1],
  ["1 filter", 64, 128, 1, 3, 1, 1],
  ["5 channels", 5, 128, 32, 3, 1, 1],
  ["video_unet_48, 3x3", 47, 48, 95, 3, 1, 1],
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
const batches = [1, 32];

const { values: options } = parseArgs({
  options: {
    dtype: { type: "string", default: "fp16" },
    only: { type: "string" },
    sizes: { type: "string" },
    sweep: { type: "boolean", default: false },
    family: { type: "string", default: "conv,conv-hopper,conv-tma" },
    peers: { type: "string" },
    device: { type: "string", default: "0" },
  },
});

function layersOf(listed: readonly Listed[]): NamedLayer[] {
  const parts = options.only?.split(",");
  return listed
    .map(([from, channels, size, filters, taps, stride, pad, groups = 1]) => ({
      from,
      channels,
      size: typeof size === "number" ? [size, size] : size,
      filters,
      taps,
      stride,
      pad,
      groups,
    }))
    .filter(({ from }) => parts === undefined || parts.some((part) => from.includes(part)));
}

/** "2x48x64x48x3": two images of 64 by 64, 48 channels and filters, taps of 3 by 3. */
function layerOfSizes(text: string): NamedLayer {
  const sizes = text.split("x").map(Number);
  if (sizes.length !== 5 || !sizes.every((each) => each > 0))
    throw new Error(`--sizes ${text}: found no batch x channels x size x filters x taps`);
  const [batch = 1, channels = 1, size = 1, filters = 1, taps = 1] = sizes;
  const pad = Math.floor(taps / 2);
  return { from: text, batch, channels, size: [size, size], filters, taps, stride: 1, pad, groups: 1 };
}

function wantedDtypes(): Dtype[] {
  return options.dtype.split(",").map((name) => {
    if (!Object.hasOwn(dtypes, name)) {
      throw new Error(`--dtype ${name}: there are ${Object.keys(dtypes).join(", ")}`);
    }
    return name as Dtype;
  });
}

interface Call {
  readonly set: CallSet;
  readonly y: View;
}

function callOf(host: HarnessHost, layer: NamedLayer, batch: number, dtype: Dtype, tile?: ConvTile): Call {
  const { storage, tf32 } = dtypes[dtype];
  const set = new CallSet(host, tf32);
  const accepts = (each: ConvChoice): boolean => each.tile === tile;
  const y = emitLayer(set, layer, batch, storage, tile === undefined ? undefined : accepts);
  set.prepare();
  return { set, y };
}

function measure(
  host: HarnessHost,
  layer: NamedLayer,
  batch: number,
  dtype: Dtype,
  tile?: ConvTile,
): TimedRow {
  const { channels, size, filters, taps, stride, pad, groups, from } = layer;
  const { storage, peer } = dtypes[dtype];
  const positions = batch * elementCount(outputSize(layer));
  const inputs = batch * elementCount(size) * channels;
  const bytes = bytesOfType(storage) * (inputs + positions * filters);
  const calls = Array.from({ length: setCount(bytes, host.context.device.l2Bytes) }, () =>
    callOf(host, layer, batch, dtype, tile),
  );
  try {
    const us = timeCalls(
      host,
      calls.map(({ set }) => set),
      samplingBeside(options.peers),
    );
    const [first] = calls;
    if (first === undefined) throw new Error("no call");
    const flops = 2 * positions * filters * (channels / groups) * taps ** size.length;
    const [H = 1, W = 1] = size;
    const { target } = first.set.emitter;
    const predicted = first.set.steps
      .map(({ step }) => aloneMicroseconds(step.action, target))
      .reduce((total, each) => total + each, 0);
    const row = {
      op: {
        op: size.length === 2 ? "conv" : `conv${size.length}d`,
        ...{ N: batch, C: channels, H, W, K: filters, R: taps, stride, pad, groups },
        layout: "NHWC",
        dtype: peer,
      },
      name: `${dtype} ${from}, batch ${batch}, predicted ${predicted.toFixed(1)}`,
      us,
      rate: `${(flops / us / 1e6).toFixed(1)} TFLOP/s, ${(bytes / us / 1e3).toFixed(0)} GB/s`,
      kernel: first.set.steps.map(({ step }) => describeStep(step)).join(" + "),
      error: errorOf(host, first, layer, batch, dtype),
    };
    return row;
  } finally {
    for (const { set } of calls) set[Symbol.dispose]();
  }
}

function describeStep({ action }: Step): string {
  if (action.kind !== "launch") return action.kind;
  const { kernel, detail, grid } = action.launch;
  return `${kernel.entry}[${grid.join(",")}]${detail === undefined ? "" : ` (${detail})`}`;
}

/** At places all over the output; relative to the largest. */
function errorOf(
  host: HarnessHost,
  { set, y }: Call,
  layer: NamedLayer,
  batch: number,
  dtype: Dtype,
): number {
  const { storage, tolerance } = dtypes[dtype];
  const { filters, from } = layer;
  const expected = expectedOf(host, layer, storage);
  const places = placesIn(batch * elementCount(outputSize(layer)), filters);
  const got = set.read(
    y,
    places.map(([row, filter]) => row * filters + filter),
  );
  let [error, largest] = [0, 0];
  for (const [index, [row, filter]] of places.entries()) {
    const sum = expected(row, filter);
    const difference = Math.abs(sum - (got[index] ?? Number.NaN));
    if (!(difference <= error)) error = difference;
    largest = Math.max(largest, Math.abs(sum));
  }
  const relative = error / largest;
  if (!(relative <= tolerance)) console.error(`WRONG ${from}, batch ${batch}, ${dtype}: off by ${relative}`);
  return relative;
}

/** One output, in double precision. */
function expectedOf(
  host: HarnessHost,
  layer: NamedLayer,
  storage: FloatStorage,
): (row: number, filter: number) => number {
  const { channels, size, filters, taps, stride, pad, groups } = layer;
  const [x, w] = [contentOf(host, storage, 1), contentOf(host, storage, 2)];
  const bias = contentOf(host, "float32", 3);
  const positions = outputSize(layer);
  const perGroup = channels / groups;
  const tapCount = taps ** size.length;
  const kernel = size.map(() => taps);
  return (row, filter) => {
    const [sample = 0, ...position] = unravelled(row, [Number.MAX_SAFE_INTEGER, ...positions]);
    const firstChannel = Math.floor(filter / (filters / groups)) * perGroup;
    let sum = bias.at(filter);
    for (let tap = 0; tap < tapCount; tap++) {
      const at = unravelled(tap, kernel).map((t, axis) => (position[axis] ?? 0) * stride - pad + t);
      if (!at.every((p, axis) => p >= 0 && p < (size[axis] ?? 0))) continue;
      const pixel = at.reduce((total, p, axis) => total * (size[axis] ?? 1) + p, sample);
      const first = pixel * channels + firstChannel;
      for (let c = 0; c < perGroup; c++)
        sum += x.at(first + c) * w.at((filter * perGroup + c) * tapCount + tap);
    }
    return sum;
  };
}

function unravelled(index: number, sizes: readonly number[]): number[] {
  const at: number[] = [];
  let rest = index;
  for (const size of sizes.toReversed()) {
    at.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return at;
}

/** Every kernel of the table that takes the layer. */
function* sweep(host: HarnessHost, layer: NamedLayer, batch: number, dtype: Dtype): Generator<TimedRow> {
  const families = options.family.split(",");
  for (const tile of convTiles.filter(({ family }) => families.includes(family))) {
    try {
      yield measure(host, layer, batch, dtype, tile);
    } catch (error) {
      if (!(error instanceof OperandError)) throw error;
    }
  }
}

function* timed(host: HarnessHost, layers: readonly NamedLayer[]): Generator<TimedRow> {
  for (const dtype of wantedDtypes()) {
    for (const layer of layers) {
      for (const batch of layer.batch === undefined ? batches : [layer.batch]) {
        if (!options.sweep) yield measure(host, layer, batch, dtype);
        else if (layer.groups < layer.channels) yield* sweep(host, layer, batch, dtype);
      }
    }
  }
}

const kernels = new URL("../cuda/", import.meta.url);
using host = await HarnessHost.open({ kernels, device: Number(options.device) });
const suffix = options.sweep ? "-sweep" : "";
const peers = options.sweep ? undefined : options.peers;
if (options.sizes === undefined) {
  report(`conv${suffix}`, [...timed(host, layersOf(zoo))], peers);
  report(`conv-misaligned${suffix}`, [...timed(host, layersOf(misaligned))], peers);
} else {
  report(`conv-sizes${suffix}`, [...timed(host, options.sizes.split(",").map(layerOfSizes))], peers);
}
