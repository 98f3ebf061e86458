/**
 * @file LayerNorm and softmax over rows beside PyTorch's, and GroupNorm by itself.
 *
 *     node dist/gpu/norm.js [--dtype fp16,bf16,fp32] [--peers FOLDER]
 *
 * Writes $OUT/norm.json. With --peers (the folder of torch_ops.py) its times stand beside ours; GroupNorm has none there.
 */
import { parseArgs } from "node:util";
import type { Step } from "../../cuda-runtime/ir/step.ts";
import { bytesOfType, type FloatStorage } from "../../cuda-runtime/ir/storage.ts";
import { elementCount, permuted, type View } from "../../cuda-runtime/ir/view.ts";
import { emitGroupNorm } from "../../cuda-runtime/kernels/norm/group.ts";
import { HarnessHost } from "../../cuda-runtime/session/harness.ts";
import { CallSet, contentOf, setCount, timeCalls } from "../../cuda-runtime/session/kernel-timer.ts";
import { report, type TimedRow } from "./beside-torch.ts";
import { emitRows, type RowKind } from "./operations.ts";

/** Rows, columns. */
const sizes: readonly (readonly [number, number])[] = [
  [197, 192],
  [2048, 320],
  [3136, 96],
  [100_352, 96],
  [6304, 768],
  [1024, 768],
  [4096, 1024],
  [16_384, 1024],
  [12_288, 197],
  [24_576, 512],
  [8192, 4096],
  [1024, 12_288],
  [512, 50_257],
  [1024, 1001],
];

/** Samples, channels, positions; 32 groups, SiLU behind. */
const groupSizes: readonly (readonly [number, number, number])[] = [
  [2, 320, 4096],
  [2, 640, 1024],
  [2, 1280, 256],
  [2, 128, 65_536],
];

const dtypes = { fp16: "float16", bf16: "bfloat16", fp32: "float32" } as const satisfies Record<
  string,
  FloatStorage
>;
type Dtype = keyof typeof dtypes;
const tolerances: Readonly<Record<Dtype, number>> = { fp16: 4e-3, bf16: 3e-2, fp32: 1e-5 };

const { values: options } = parseArgs({
  options: {
    dtype: { type: "string", default: "fp16" },
    peers: { type: "string" },
    device: { type: "string", default: "0" },
  },
});

interface Call {
  readonly set: CallSet;
  readonly y: View;
}

interface Work {
  readonly name: string;
  readonly shape: readonly number[];
  readonly emit: (set: CallSet, x: View, y: View) => void;
  /** Of the element at a packed index. */
  readonly expected: (at: (index: number) => number, index: number) => number;
}

function rowWork(kind: RowKind, rows: number, cols: number): Work {
  const row = (at: (index: number) => number, index: number) => {
    const start = Math.floor(index / cols) * cols;
    return filled(cols, (i) => at(start + i));
  };
  if (kind === "softmax") {
    return {
      name: `softmax ${rows}x${cols}`,
      shape: [rows, cols],
      emit: (set, x, y) => emitRows(set.emitter, kind, x, y),
      expected: (at, index) => Math.exp(at(index)) / row(at, index).reduce((sum, x) => sum + Math.exp(x), 0),
    };
  }
  return {
    name: `layernorm ${rows}x${cols}`,
    shape: [rows, cols],
    emit: (set, x, y) => emitRows(set.emitter, kind, x, y),
    expected: (at, index) => normalized(row(at, index), at(index)),
  };
}

function filled(count: number, value: (index: number) => number): Float64Array {
  const values = new Float64Array(count);
  for (let index = 0; index < count; index++) values[index] = value(index);
  return values;
}

function normalized(values: Float64Array, x: number): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length;
  return (x - mean) / Math.sqrt(variance + 1e-5);
}

/** [samples, positions, channels] in memory. */
function groupWork(samples: number, channels: number, positions: number): Work {
  const groups = 32;
  const size = channels / groups;
  return {
    name: `groupnorm ${samples}x${channels}x${positions} nhwc`,
    shape: [samples, positions, channels],
    emit: (set, x, y) =>
      emitGroupNorm(set.emitter, {
        x: permuted(x, [0, 2, 1]),
        y: permuted(y, [0, 2, 1]),
        groups,
        scale: undefined,
        bias: undefined,
        isParameterPerGroup: false,
        epsilon: 1e-5,
        isSilu: true,
      }),
    expected: (at, index) => {
      const base = Math.floor(index / (positions * channels)) * positions * channels;
      const first = Math.floor((index % channels) / size) * size;
      const group = filled(positions * size, (i) =>
        at(base + Math.floor(i / size) * channels + first + (i % size)),
      );
      const value = normalized(group, at(index));
      return value / (1 + Math.exp(-value));
    },
  };
}

function measure(host: HarnessHost, work: Work, dtype: Dtype, op: TimedRow["op"]): TimedRow {
  const type = dtypes[dtype];
  const bytes = 2 * elementCount(work.shape) * bytesOfType(type);
  const calls: Call[] = Array.from({ length: setCount(bytes, host.context.device.l2Bytes) }, () => {
    const set = new CallSet(host, false);
    const x = set.tensor("input", type, work.shape, 1);
    const y = set.output(type, work.shape);
    work.emit(set, x, y);
    set.prepare();
    return { set, y };
  });
  try {
    const us = timeCalls(
      host,
      calls.map(({ set }) => set),
    );
    const [first] = calls;
    if (first === undefined) throw new Error("no call");
    const error = errorOf(host, first, work, type);
    const name = `${dtype} ${work.name}`;
    if (!(error <= tolerances[dtype])) console.error(`WRONG ${name}: off by ${error}`);
    const kernel = first.set.steps.map(({ step }) => entryOf(step)).join(" + ");
    return { op, name, us, rate: `${(bytes / us / 1e3).toFixed(0)} GB/s`, kernel, error };
  } finally {
    for (const { set } of calls) set[Symbol.dispose]();
  }
}

const samples = 16;

function errorOf(host: HarnessHost, { set, y }: Call, { shape, expected }: Work, type: FloatStorage): number {
  const content = contentOf(host, type, 1);
  const total = elementCount(shape);
  const places = Array.from({ length: samples }, (_, i) =>
    i === 0 ? total - 1 : (i * 2_654_435_761) % total,
  );
  const got = set.read(y, places);
  const errors = places.map((place, index) =>
    Math.abs(expected(content.at, place) - (got[index] ?? Number.NaN)),
  );
  return errors.reduce((a, b) => Math.max(a, b));
}

function entryOf({ action }: Step): string {
  return action.kind === "launch" ? action.launch.kernel.entry : action.kind;
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
for (const dtype of wantedDtypes()) {
  const rows = (["layernorm", "softmax"] as const).flatMap((kind) =>
    sizes.map(([count, cols]) =>
      measure(host, rowWork(kind, count, cols), dtype, { op: kind, rows: count, cols, dtype }),
    ),
  );
  report(`norm-${dtype}`, rows, options.peers);
  for (const [count, channels, positions] of groupSizes) {
    const row = measure(host, groupWork(count, channels, positions), dtype, { op: "none" });
    console.log(
      `${row.name}: ${row.us.toFixed(2)} us, ${row.rate}, error ${row.error.toExponential(1)}, ${row.kernel}`,
    );
  }
}
