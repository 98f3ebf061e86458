/**
 * @file Depthwise convolutions of the zoo in every form that takes them, beside their roofline; channels last, with bias.
 *
 *     node dist/gpu/depthwise.js [--batch 1,32] [--dtype fp16,bf16] [--only PART,…] [--form PART,…] [--most N] [--chosen] [--peers FOLDER]
 *
 * Blocks on Tensor Cores may have hundreds of sizes: of those with the same channels, of which equally many fit a multiprocessor,
 * the one is taken that reads least. --form takes those whose name has a part (`ring_k3s1_7 8x14x72`); --most takes
 * N of them, spread evenly; --chosen takes what the planner takes. Writes $OUT/depthwise.json; --peers is the folder of
 * torch_ops.py, whose convolutions have no activation.
 */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { aloneMicroseconds } from "../../cuda-runtime/cost/predict.ts";
import { type Activation, noActivation, plainEpilogue } from "../../cuda-runtime/ir/epilogue.ts";
import type { HalfStorage } from "../../cuda-runtime/ir/storage.ts";
import { permuted } from "../../cuda-runtime/ir/view.ts";
import type { Window } from "../../cuda-runtime/kernels/conv/params.ts";
import { emitDepthwise } from "../../cuda-runtime/kernels/depthwise/depthwise.ts";
import type { DepthwiseChoice } from "../../cuda-runtime/kernels/depthwise/problem.ts";
import { HarnessHost } from "../../cuda-runtime/session/harness.ts";
import {
  CallSet,
  copyGigabytesPerSecond,
  setCount,
  timeCalls,
} from "../../cuda-runtime/session/kernel-timer.ts";
import { peerTimes } from "./beside-torch.ts";

interface Layer {
  readonly from: string;
  readonly channels: number;
  readonly size: number;
  readonly taps: number;
  readonly stride: number;
  readonly activation: Activation;
  readonly batch: number;
  readonly dtype: keyof typeof dtypes;
}

const dtypes = { fp16: "float16", bf16: "bfloat16" } as const satisfies Record<string, HalfStorage>;
const clip: Activation = { kind: "clip", a: 0, b: 6 };
const silu: Activation = { kind: "silu", a: 1, b: 0 };

type Listed = readonly [
  from: string,
  channels: number,
  size: number,
  taps: number,
  stride: number,
  activation: Activation,
];

const listed: readonly Listed[] = [
  ["mobilenet_v2", 32, 112, 3, 1, clip],
  ["mobilenet_v2", 96, 112, 3, 2, clip],
  ["mobilenet_v2", 144, 56, 3, 1, clip],
  ["mobilenet_v2", 144, 56, 3, 2, clip],
  ["mobilenet_v2", 192, 28, 3, 1, clip],
  ["mobilenet_v2", 576, 14, 3, 1, clip],
  ["mobilenet_v2", 576, 14, 3, 2, clip],
  ["mobilenet_v2", 960, 7, 3, 1, clip],
  ["efficientnet_b0", 144, 56, 3, 1, silu],
  ["efficientnet_b0", 144, 56, 5, 2, silu],
  ["efficientnet_b0", 240, 28, 5, 1, silu],
  ["efficientnet_b0", 480, 14, 5, 1, silu],
  ["efficientnet_b0", 1152, 7, 5, 1, silu],
  ["convnext_tiny", 96, 56, 7, 1, noActivation],
  ["convnext_tiny", 192, 28, 7, 1, noActivation],
  ["convnext_tiny", 384, 14, 7, 1, noActivation],
  ["convnext_tiny", 768, 7, 7, 1, noActivation],
  ["shufflenet_v2", 24, 56, 3, 2, noActivation],
];

const { values: options } = parseArgs({
  options: {
    batch: { type: "string", default: "32" },
    dtype: { type: "string", default: "fp16" },
    only: { type: "string" },
    form: { type: "string" },
    most: { type: "string", default: "1000" },
    chosen: { type: "boolean", default: false },
    peers: { type: "string" },
    device: { type: "string", default: "0" },
  },
});

function layers(): Layer[] {
  const parts = options.only?.split(",");
  const wanted = Object.keys(dtypes).filter((name) => options.dtype.split(",").includes(name));
  return options.batch.split(",").flatMap((batch) =>
    wanted.flatMap((name) =>
      listed
        .map(([from, channels, size, taps, stride, activation]) => ({
          ...{ from, channels, size, taps, stride, activation },
          ...{ batch: Number(batch), dtype: name === "bf16" ? ("bf16" as const) : ("fp16" as const) },
        }))
        .filter((layer) => parts === undefined || parts.some((part) => nameOf(layer).includes(part))),
    ),
  );
}

function nameOf({ from, channels, size, taps, stride, batch, dtype }: Layer): string {
  return `${dtype} ${from} b${batch} ${channels}x${size} k${taps}s${stride}`;
}

function outputSize({ size, taps, stride }: Layer): number {
  return Math.floor((size + 2 * Math.floor(taps / 2) - taps) / stride) + 1;
}

function bytesOf(layer: Layer): number {
  const { batch, channels, size } = layer;
  return 2 * batch * channels * (size ** 2 + outputSize(layer) ** 2);
}

function emit(set: CallSet, layer: Layer, accepts: (choice: DepthwiseChoice) => boolean): void {
  const { batch, channels, size, taps, stride, activation, dtype } = layer;
  const type = dtypes[dtype];
  const out = outputSize(layer);
  const pad = Math.floor(taps / 2);
  const bias = set.tensor("constant", "float32", [channels], 3);
  const request = {
    x: permuted(set.tensor("input", type, [batch, size, size, channels], 1), [0, 3, 1, 2]),
    w: set.tensor("constant", type, [channels, 1, taps, taps], 2),
    to: permuted(set.output(type, [batch, out, out, channels]), [0, 3, 1, 2]),
    ...{ strides: [stride, stride], dilations: [1, 1], pads: [pad, pad], groups: channels },
    epilogue: { ...plainEpilogue, bias, activation },
  };
  const window: Window = {
    kernel: [1, taps, taps],
    stride: [1, stride, stride],
    dilation: [1, 1, 1],
    pad: [0, pad, pad],
  };
  emitDepthwise(set.emitter, request, window, accepts);
}

/** All that the planner could take. */
function choicesOf(host: HarnessHost, layer: Layer): DepthwiseChoice[] {
  const all: DepthwiseChoice[] = [];
  using set = new CallSet(host, false);
  emit(set, layer, (choice) => {
    all.push(choice);
    return true;
  });
  return all;
}

const residentSteps = [1, 2, 3, 4, 6, 9, 14];

function sampled(host: HarnessHost, layer: Layer): DepthwiseChoice[] {
  const { sharedBytes, reservedSharedBytes } = host.target;
  const read = ({ wide, high }: DepthwiseChoice) => {
    const { taps, stride } = layer;
    const out = outputSize(layer);
    const tiles = Math.ceil(out / wide) * Math.ceil(out / high);
    return tiles * ((high - 1) * stride + taps) * ((wide - 1) * stride + taps);
  };
  const groups = new Map<string, DepthwiseChoice>();
  const forms = options.form?.split(",");
  for (const choice of choicesOf(host, layer)) {
    const { suffix, diagonal, vector } = choice;
    const name = `${suffix} ${choice.wide}x${choice.high}x${vector} ${diagonal?.blocks ?? ""}`;
    if (forms?.some((form) => name.includes(form)) === false) continue;
    const resident = Math.floor(sharedBytes / (choice.sharedBytes + reservedSharedBytes));
    const step = residentSteps.findLast((each) => each <= resident) ?? 1;
    const { ring } = diagonal ?? {};
    const key =
      diagonal === undefined
        ? suffix
        : ring === undefined
          ? `${suffix} ${vector} ${step} ${diagonal.stage > 0}`
          : `${name} ${ring.stages}`;
    const known = groups.get(key);
    if (diagonal?.ring === undefined && diagonal !== undefined && vector < 16 && layer.channels % 16 === 0)
      continue;
    if (known === undefined || read(choice) < read(known)) groups.set(key, choice);
  }
  const all = [...groups.values()];
  const every = Math.max(1, all.length / Number(options.most));
  return all.filter((_, i) => Math.floor(i / every) !== Math.floor((i - 1) / every));
}

interface Timed {
  readonly layer: string;
  readonly choice: DepthwiseChoice | undefined;
  readonly label: string;
  readonly us: number;
  readonly predicted: number;
  readonly roofline: number;
}

function measure(host: HarnessHost, layer: Layer, wanted: DepthwiseChoice | undefined): Timed {
  const isWanted = (choice: DepthwiseChoice) =>
    wanted === undefined || JSON.stringify(choice) === JSON.stringify(wanted);
  const sets = Array.from({ length: setCount(bytesOf(layer), host.context.device.l2Bytes) }, () => {
    const set = new CallSet(host, false);
    emit(set, layer, isWanted);
    set.prepare();
    return set;
  });
  try {
    const us = timeCalls(host, sets);
    const [step] = sets[0]?.steps ?? [];
    if (step === undefined) throw new Error("nothing was launched");
    const { action } = step.step;
    const label =
      action.kind === "launch" ? `${action.launch.kernel.entry} ${action.launch.detail ?? ""}` : action.kind;
    const predicted = aloneMicroseconds(action, host.target);
    const roofline = bytesOf(layer) / promisedBandwidth;
    return { layer: nameOf(layer), choice: wanted, label, us, predicted, roofline };
  } finally {
    for (const set of sets) set[Symbol.dispose]();
  }
}

/** Bytes a microsecond. */
let promisedBandwidth = 3.35e6;

function peersOf(all: readonly Layer[]): readonly (number | null)[] {
  if (options.peers === undefined) return [];
  const ops = all.map((layer) => ({
    ...{ op: "conv", N: layer.batch, C: layer.channels, H: layer.size, W: layer.size, K: layer.channels },
    ...{ R: layer.taps, stride: layer.stride, pad: Math.floor(layer.taps / 2), groups: layer.channels },
    ...{ layout: "NHWC", dtype: layer.dtype },
  }));
  return peerTimes(ops, options.peers);
}

using host = await HarnessHost.open({
  kernels: new URL("../cuda/", import.meta.url),
  device: Number(options.device),
});
console.log(`a copy reaches ${copyGigabytesPerSecond(host).toFixed(0)} GB/s`);
if (/H200/.test(host.context.device.name)) promisedBandwidth = 4.8e6;
const all = layers();
const rows: Timed[] = [];
for (const layer of all) {
  const choices = options.chosen ? [] : sampled(host, layer);
  const own = choices.map((choice) => measure(host, layer, choice)).toSorted((a, b) => a.us - b.us);
  const chosen = { ...measure(host, layer, undefined), label: "" };
  rows.push(...own, chosen);
  const [best] = own;
  const before = own.find(({ choice }) => choice?.diagonal === undefined);
  const text = (row: Timed | undefined) =>
    row === undefined
      ? ""
      : `${row.us.toFixed(1)} (${((100 * row.roofline) / row.us).toFixed(0)} %) ${row.label}`;
  console.log(
    `${nameOf(layer)}: roofline ${chosen.roofline.toFixed(1)}, chosen ${text(chosen)}predicted ${chosen.predicted.toFixed(1)}, best ${text(best)}, older ${text(before)}`,
  );
  writeFileSync(path.join(process.env["OUT"] ?? ".", "depthwise.json"), JSON.stringify(rows));
}
for (const [index, us] of peersOf(all).entries()) {
  const layer = all[index];
  if (layer !== undefined) console.log(`${nameOf(layer)}: PyTorch ${us?.toFixed(1) ?? "none"}`);
}
