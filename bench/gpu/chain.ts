/**
 * @file Elementwise chains beside PyTorch's: bandwidth, the sum of two tensors first.
 *
 *     node dist/gpu/chain.js [--peers FOLDER]
 *
 * Writes $OUT/chain.json. With --peers (the folder of torch_ops.py) its times stand beside ours.
 */
import { parseArgs } from "node:util";
import { HarnessHost } from "../../cuda-runtime/session/harness.ts";
import { CallSet, contentOf, setCount, timeCalls } from "../../cuda-runtime/session/kernel-timer.ts";
import { report, samplingBeside, type TimedRow } from "./beside-torch.ts";
import { type ChainKind, chains, emitChain } from "./operations.ts";

const { values: options } = parseArgs({
  options: { peers: { type: "string" }, device: { type: "string", default: "0" } },
});

/** Rows, columns. */
const sizes: readonly (readonly [number, number])[] = [
  [1024, 1024],
  [16_384, 1024],
  [16_384, 4096],
  [65_536, 8192],
];

const expectations: Readonly<Record<ChainKind, (x: number, y: number) => number>> = {
  add: (x, y) => x + y,
  // Within a half's rounding of the exact one for the magnitudes drawn.
  gelu: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  silu: (x) => x / (1 + Math.exp(-x)),
};

const tolerance = 2e-3;
const samples = 16;

const host = await HarnessHost.open({
  kernels: new URL("../cuda/", import.meta.url),
  device: Number(options.device),
});
const rows: TimedRow[] = [];
for (const kind of Object.keys(chains) as ChainKind[]) {
  for (const [count, columns] of sizes) rows.push(measure(kind, count, columns));
}
report("chain", rows, options.peers);

function measure(kind: ChainKind, count: number, columns: number): TimedRow {
  const { inputs } = chains[kind];
  const expected = expectations[kind];
  const shape = [count, columns];
  const bytes = (inputs + 1) * count * columns * 2;
  const calls = Array.from({ length: setCount(bytes, host.context.device.l2Bytes) }, () => {
    const set = new CallSet(host, false);
    const to = emitChain(set, kind, shape);
    set.prepare();
    return { set, to };
  });
  try {
    const us = timeCalls(
      host,
      calls.map(({ set }) => set),
      samplingBeside(options.peers),
    );
    const name = `fp16 ${kind} ${count}x${columns}`;
    const error = errorOf(calls[0], count * columns, expected);
    if (!(error <= tolerance)) console.error(`WRONG ${name}: off by ${error}`);
    const op = { op: kind, rows: count, cols: columns, dtype: "fp16" };
    return { op, name, us, rate: `${(bytes / us / 1e3).toFixed(0)} GB/s`, kernel: "chain", error };
  } finally {
    for (const { set } of calls) set[Symbol.dispose]();
  }
}

function errorOf(
  call: { readonly set: CallSet; readonly to: Parameters<CallSet["read"]>[0] } | undefined,
  total: number,
  expected: (x: number, y: number) => number,
): number {
  if (call === undefined) throw new Error("no call");
  const [x, y] = [contentOf(host, "float16", 1), contentOf(host, "float16", 2)];
  const places = Array.from({ length: samples }, (_, i) =>
    i === 0 ? total - 1 : (i * 2_654_435_761) % total,
  );
  const got = call.set.read(call.to, places);
  return Math.max(
    ...places.map((place, index) =>
      Math.abs(expected(x.at(place), y.at(place)) - (got[index] ?? Number.NaN)),
    ),
  );
}
