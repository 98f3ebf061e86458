/**
 * @file Recurrences after the product with the input, by every way that there is, in one run.
 *
 *     node dist/gpu/recurrent.js [--type float16] [--only lstm,gru] [--ways tensor,sequence,step]
 *
 * Writes $OUT/recurrent.json: rows {cell, type, steps, batch, hidden, directions, way, kept, blocks, us, predicted}. What PyTorch's cuDNN takes for
 * the whole layer, the product with the input in it: recurrent_torch.py.
 */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import type { FloatStorage } from "../../cuda-runtime/ir/storage.ts";
import { type CellKind, cells, type GateFunction } from "../../cuda-runtime/kernels/recurrent/cells.ts";
import {
  chooseRecurrent,
  type RecurrentSizes,
  type RecurrentWay,
  recurrentWays,
} from "../../cuda-runtime/kernels/recurrent/choose.ts";
import { emitRecurrent } from "../../cuda-runtime/kernels/recurrent/recurrent.ts";
import { HarnessHost } from "../../cuda-runtime/session/harness.ts";
import { CallSet, timeCalls } from "../../cuda-runtime/session/kernel-timer.ts";
import type { Operands } from "./operations.ts";

type Shape = readonly [cell: CellKind, steps: number, batch: number, hidden: number, directions: 1 | 2];

const sizes: readonly (readonly [steps: number, batch: number, hidden: number, directions: 1 | 2])[] = [
  [32, 1, 100, 2],
  [32, 8, 100, 2],
  [32, 32, 100, 2],
  [64, 1, 32, 1],
  [64, 1, 64, 1],
  [64, 1, 128, 1],
  [64, 1, 256, 1],
  [64, 1, 264, 1],
  [64, 1, 512, 1],
  [64, 1, 1024, 1],
  [64, 32, 128, 2],
  [64, 32, 256, 2],
  [64, 32, 512, 2],
  [64, 128, 256, 1],
  [64, 256, 128, 2],
];

const { values: options } = parseArgs({
  options: {
    type: { type: "string", default: "float16" },
    only: { type: "string", default: "lstm,gru" },
    ways: { type: "string", default: "tensor,sequence,step" },
  },
});

const functions: Readonly<Record<CellKind, readonly GateFunction["kind"][]>> = {
  lstm: ["Sigmoid", "Tanh", "Tanh"],
  gru: ["Sigmoid", "Tanh"],
  gruReset: ["Sigmoid", "Tanh"],
  rnn: ["Tanh"],
};

function sizesOf([cell, steps, batch, hidden, directions]: Shape, type: FloatStorage): RecurrentSizes {
  const ofDirection = functions[cell].map((kind): GateFunction => ({ kind, alpha: 0, beta: 0 }));
  return {
    ...{ cell, type, steps, batch, hidden, directions },
    functions: Array.from({ length: directions }, () => ofDirection),
  };
}

function emit(set: Operands, given: RecurrentSizes, way: RecurrentWay): void {
  const { cell, type, steps, batch, hidden, directions } = given;
  const rows = cells[cell].gates * hidden;
  const state = [directions, batch, hidden];
  emitRecurrent(
    set.emitter,
    {
      ...given,
      r: set.tensor("constant", type, [directions, rows, hidden], 1),
      x: set.tensor("input", "float32", [directions, steps, batch, rows], 2),
      rBias: set.tensor("constant", "float32", [directions, rows], 3),
      h: set.tensor("input", "float32", state, 4),
      c: cell === "lstm" ? set.tensor("input", "float32", state, 5) : undefined,
      y: set.output(type, [directions, steps, batch, hidden]),
      reversed: [false, true].slice(0, directions),
      ...{ peepholes: undefined, lengths: undefined, clip: Number.POSITIVE_INFINITY, inputForget: false },
    },
    (offered) => JSON.stringify(offered) === JSON.stringify(way),
  );
}

function measure(host: HarnessHost, given: RecurrentSizes, way: RecurrentWay): number {
  const set = new CallSet(host, false);
  try {
    emit(set, given, way);
    set.prepare();
    return Math.round(100 * timeCalls(host, [set])) / 100;
  } finally {
    set[Symbol.dispose]();
  }
}

function nameOf(way: RecurrentWay): string {
  return way.kind === "tensor" ? `tensor k${way.kept} x${way.blocks}` : way.kind;
}

function typeNamed(name: string): FloatStorage {
  if (name === "float16" || name === "bfloat16" || name === "float32") return name;
  throw new RangeError(`--type is ${name}, expected float16, bfloat16 or float32`);
}

using host = await HarnessHost.open({ kernels: new URL("../cuda/", import.meta.url), device: 0 });
const rows: object[] = [];
const type = typeNamed(options.type);
const wanted = options.only.split(",");
for (const cell of (["lstm", "gru", "rnn", "gruReset"] as const).filter((each) => wanted.includes(each))) {
  for (const size of sizes) {
    const given = sizesOf([cell, ...size], type);
    const chosen = nameOf(chooseRecurrent(given, host.target).launch);
    const times: string[] = [];
    for (const { launch: way, microseconds } of recurrentWays(given, host.target)) {
      if (!options.ways.split(",").includes(way.kind)) continue;
      const us = measure(host, given, way);
      const predicted = Math.round(100 * microseconds) / 100;
      const { functions: _functions, ...shown } = given;
      rows.push({ ...shown, ...way, us, predicted });
      times.push(`${nameOf(way)} ${us} (${predicted})`);
    }
    console.log(`${cell} ${size.join(" ")}: chosen ${chosen} | ${times.join(", ")}`);
  }
}
writeFileSync(path.join(process.env["OUT"] ?? ".", "recurrent.json"), JSON.stringify(rows));
