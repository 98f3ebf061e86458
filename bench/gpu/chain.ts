/**
 * @file Elementwise chains beside PyTorch's: bandwidth, the sum of two tensors first.
 *
 *     node dist/gpu/chain.js [--peers FOLDER]
 *
 * Writes $OUT/chain.json. With --peers (the folder of torch_ops.py) its times stand beside ours.
 */
import { parseArgs } from "node:util";
import { binary, constant, load, unary } from "../../cuda-runtime/ptx/build.ts";
import type { Expr } from "../../cuda-runtime/ptx/expr.ts";
import { HarnessHost } from "../../cuda-runtime/session/harness.ts";
import { report, type TimedRow } from "./beside-torch.ts";
import { CallSet, contentOf, setCount, timeCalls } from "./kernel-timer.ts";

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

interface Chain {
  readonly inputs: 1 | 2;
  readonly expr: (x: Expr, y: Expr) => Expr;
  readonly expected: (x: number, y: number) => number;
}

const chains: Readonly<Record<"add" | "gelu" | "silu", Chain>> = {
  add: { inputs: 2, expr: (x, y) => binary("add", x, y), expected: (x, y) => x + y },
  gelu: {
    inputs: 1,
    expr: (x) => {
      const half = binary("mul", x, constant("f32", 0.5));
      const erf = unary("erf", binary("mul", x, constant("f32", Math.SQRT1_2)));
      return binary("mul", half, binary("add", erf, constant("f32", 1)));
    },
    // Within a half's rounding of the exact one for the magnitudes drawn.
    expected: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  },
  silu: {
    inputs: 1,
    expr: (x) => binary("mul", x, unary("sigmoid", x)),
    expected: (x) => x / (1 + Math.exp(-x)),
  },
};

type Kind = keyof typeof chains;

const tolerance = 2e-3;
const samples = 16;

const host = await HarnessHost.open({
  kernels: new URL("../cuda/", import.meta.url),
  device: Number(options.device),
});
const rows: TimedRow[] = [];
for (const kind of Object.keys(chains) as Kind[]) {
  for (const [count, columns] of sizes) rows.push(measure(kind, count, columns));
}
report("chain", rows, options.peers);

function measure(kind: Kind, count: number, columns: number): TimedRow {
  const { inputs, expr, expected } = chains[kind];
  const shape = [count, columns];
  const bytes = (inputs + 1) * count * columns * 2;
  const calls = Array.from({ length: setCount(bytes, host.context.device.l2Bytes) }, () => {
    const set = new CallSet(host, false);
    const x = set.tensor("input", "float16", shape, 1);
    const y = inputs === 2 ? set.tensor("input", "float16", shape, 2) : x;
    const to = set.output("float16", shape);
    set.emitter.evaluateInto(expr(load(x), load(y)), to);
    set.prepare();
    return { set, to };
  });
  try {
    const us = timeCalls(
      host,
      calls.map(({ set }) => set),
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
  expected: Chain["expected"],
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
