/**
 * @file LayerNorm and softmax over rows beside PyTorch's, and GroupNorm by itself.
 *
 *     node dist/gpu/norm.js [--dtype fp16,bf16,fp32] [--peers FOLDER]
 *     node dist/gpu/norm.js --variants [--dtype fp16] [--only PATTERN]
 *
 * Writes $OUT/norm-DTYPE.json. With --peers (the folder of torch_ops.py) its times stand beside ours; GroupNorm has none there.
 * With --variants every way that a kernel has of doing each piece of work (of those whose name has PATTERN) is timed, the one that
 * the plan takes first; $OUT/norm-variants-DTYPE.json.
 */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import type { Step } from "../../cuda-runtime/ir/step.ts";
import { bytesOfType, type FloatStorage } from "../../cuda-runtime/ir/storage.ts";
import { elementCount, type View } from "../../cuda-runtime/ir/view.ts";
import { HarnessHost } from "../../cuda-runtime/session/harness.ts";
import { CallSet, contentOf, setCount, timeCalls } from "../../cuda-runtime/session/kernel-timer.ts";
import { report, samplingBeside, type TimedRow } from "./beside-torch.ts";
import { type AcceptsWay, groupWork, rowWork, type Work, waysOf } from "./norm-work.ts";
import type { RowKind } from "./operations.ts";

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

/** Samples, channels, positions, groups. */
const groupSizes: readonly (readonly [number, number, number, number?])[] = [
  [2, 320, 4096],
  [2, 640, 1024],
  [2, 1280, 256],
  [2, 128, 65_536],
  [2, 64, 65_536],
  [8, 320, 4096],
  [2, 48, 4096, 16],
  [2, 144, 4096, 16],
  [2, 96, 1024],
  [2, 192, 256],
  [2, 384, 64],
  [2, 768, 64],
  [32, 320, 1024],
  [16, 256, 4096],
  [64, 96, 1024, 16],
];

/** Of `--variants`, beside all sizes of groups. */
const variantSizes: readonly (readonly [RowKind, number, number])[] = [
  ["softmax", 12_288, 197],
  ["softmax", 3136, 96],
  ["softmax", 100_352, 96],
  ["softmax", 512, 50_257],
  ["softmax", 98_304, 49],
  ["softmax", 8192, 4096],
  ["softmax", 1024, 12_288],
  ["layernorm", 8192, 4096],
  ["layernorm", 1024, 12_288],
  ["layernorm", 16_384, 1024],
  ["layernorm", 12_288, 197],
  ["layernorm", 100_352, 96],
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
    variants: { type: "boolean", default: false },
    only: { type: "string", default: "" },
    device: { type: "string", default: "0" },
  },
});

interface Call {
  readonly set: CallSet;
  readonly y: View;
}

function measure(
  host: HarnessHost,
  work: Work,
  dtype: Dtype,
  op: TimedRow["op"],
  accepts: AcceptsWay = () => true,
): TimedRow {
  const type = dtypes[dtype];
  const bytes = 2 * elementCount(work.shape) * bytesOfType(type);
  const calls: Call[] = Array.from({ length: setCount(bytes, host.context.device.l2Bytes) }, () => {
    const set = new CallSet(host, false);
    const x = set.tensor("input", type, work.shape, 1);
    const y = set.output(type, work.shape);
    work.emit(set.emitter, x, y, accepts);
    set.prepare();
    return { set, y };
  });
  try {
    const us = timeCalls(
      host,
      calls.map(({ set }) => set),
      samplingBeside(options.peers),
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

function timeVariants(host: HarnessHost, dtype: Dtype): void {
  const works = [
    ...groupSizes.flatMap(([samples, channels, positions, groups]) =>
      [true, false].map((isSilu) => groupWork(samples, channels, positions, groups, isSilu)),
    ),
    ...variantSizes.map((size) => rowWork(...size)),
  ];
  const rows = works
    .filter(({ name }) => name.includes(options.only))
    .flatMap((work) =>
      waysOf(work, dtypes[dtype], host.target).map((way) => {
        const row = measure(host, work, dtype, { op: "none" }, (name) => name === way.name);
        const predicted = `predicted ${way.predictedMicroseconds.toFixed(2)}`;
        console.log(
          `${row.name}: ${row.us.toFixed(2)} us (${predicted}), ${row.rate}, error ${row.error.toExponential(1)}, ${way.name}`,
        );
        return { name: row.name, way, us: row.us, error: row.error, kernel: row.kernel };
      }),
    );
  const file = path.join(process.env["OUT"] ?? ".", `norm-variants-${dtype}.json`);
  writeFileSync(file, JSON.stringify(rows, null, 1));
}

const kernels = new URL("../cuda/", import.meta.url);
using host = await HarnessHost.open({ kernels, device: Number(options.device) });
for (const dtype of wantedDtypes()) {
  if (options.variants) {
    timeVariants(host, dtype);
    continue;
  }
  const rows = (["layernorm", "softmax"] as const).flatMap((kind) =>
    sizes.map(([count, cols]) =>
      measure(host, rowWork(kind, count, cols), dtype, { op: kind, rows: count, cols, dtype }),
    ),
  );
  report(`norm-${dtype}`, rows, options.peers);
  for (const size of groupSizes) {
    const row = measure(host, groupWork(...size), dtype, { op: "none" });
    console.log(
      `${row.name}: ${row.us.toFixed(2)} us, ${row.rate}, error ${row.error.toExponential(1)}, ${row.kernel}`,
    );
  }
}
