/**
 * @file Products of many rows by few along k, as networks of batch 32 have them, with what they do to elements: the best other kernel beside those
 * of gemm-thin, in one run.
 *
 *     node dist/gpu/thin.js [--most 5] [--others 2] [--only MxNxK,…]
 *
 * Writes $OUT/thin.json: rows {size, first, residual, isThin, kernel, us, predicted, roof}. `roof`: all bytes once at the bandwidth of the
 * GPU's row. --most: how many of gemm-thin's rows are timed for a shape, the best predicted first; --others: of all others.
 */

import { writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { type ActivationKind, plainEpilogue } from "../../cuda-runtime/ir/epilogue.ts";
import { permuted } from "../../cuda-runtime/ir/view.ts";
import type { Accepts } from "../../cuda-runtime/kernels/gemm/choose.ts";
import { emitGemm } from "../../cuda-runtime/kernels/gemm/gemm.ts";
import type { GemmRow } from "../../cuda-runtime/kernels/gemm/table.ts";
import { DraftOperands } from "../../cuda-runtime/plan/draft-operands.ts";
import { HarnessHost } from "../../cuda-runtime/session/harness.ts";
import { CallSet, setCount, timeCalls } from "../../cuda-runtime/session/kernel-timer.ts";
import type { Operands } from "./operations.ts";

type Shape = readonly [m: number, n: number, k: number, first: ActivationKind, end: "plain" | "residual"];

const shapes: readonly Shape[] = [
  [204800, 64, 64, "silu", "plain"],
  [204800, 32, 64, "silu", "plain"],
  [204800, 32, 32, "silu", "plain"],
  [51200, 255, 128, "none", "plain"],
  [51200, 64, 128, "silu", "plain"],
  [51200, 128, 128, "silu", "plain"],
  [12800, 128, 256, "silu", "plain"],
  [401408, 96, 16, "silu", "plain"],
  [401408, 96, 16, "clip", "plain"],
  [401408, 16, 32, "none", "plain"],
  [100352, 144, 24, "silu", "plain"],
  [100352, 144, 24, "clip", "plain"],
  [25088, 240, 40, "silu", "plain"],
  [6272, 480, 80, "silu", "plain"],
  [100352, 24, 96, "none", "plain"],
  [100352, 24, 144, "none", "residual"],
  [100352, 384, 96, "gelu", "plain"],
  [25088, 768, 192, "gelu", "plain"],
  [6304, 768, 192, "gelu", "plain"],
  [100352, 288, 96, "none", "plain"],
  [100352, 58, 24, "relu", "plain"],
  [25088, 58, 24, "relu", "plain"],
  [100352, 128, 64, "relu", "plain"],
  [100352, 128, 192, "relu", "plain"],
  [100352, 64, 256, "relu", "plain"],
  [100352, 256, 64, "relu", "residual"],
  [25088, 512, 128, "relu", "plain"],
  [6304, 576, 192, "none", "plain"],
  // What the formulas take: the same without.
  [204800, 64, 64, "none", "plain"],
  [401408, 96, 16, "none", "plain"],
  [100352, 384, 96, "none", "plain"],
  // Few rows, where the ring's kernels may stay.
  [3136, 64, 64, "relu", "plain"],
  [1568, 240, 40, "silu", "plain"],
  [197, 768, 192, "gelu", "plain"],
];

interface Row {
  readonly size: string;
  readonly first: ActivationKind;
  readonly residual: boolean;
  readonly isThin: boolean;
  readonly kernel: string;
  readonly us: number;
  readonly predicted: number;
  readonly roof: number;
}

const { values: options } = parseArgs({
  options: {
    most: { type: "string", default: "5" },
    others: { type: "string", default: "2" },
    only: { type: "string" },
  },
});
const limits: Readonly<Partial<Record<ActivationKind, readonly [number, number]>>> = {
  silu: [1, 0],
  clip: [0, 6],
};

function emit(set: Operands, [m, n, k, first, end]: Shape, accepts: Accepts): void {
  const [a = 0, b = 0] = limits[first] ?? [];
  const x = set.tensor("input", "float16", [m, k], 1);
  const w = set.tensor("constant", "float16", [n, k], 2);
  const bias = set.tensor("constant", "float32", [n], 3);
  const residual = end === "residual" ? set.tensor("input", "float16", [m, n], 4) : undefined;
  const activation = { kind: first, a, b };
  // A network's block ends in the addition and then its relu.
  const own = residual !== undefined ? { residual, last: activation } : { activation };
  const to = set.output("float16", [m, n]);
  emitGemm(
    set.emitter,
    { a: x, b: permuted(w, [1, 0]), to, epilogue: { ...plainEpilogue, bias, ...own } },
    accepts,
  );
}

interface Way {
  readonly row: GemmRow;
  readonly predicted: number;
}

/** Whole products by every row, the best predicted first. */
function waysOf(host: HarnessHost, shape: Shape): Way[] {
  const ways: Way[] = [];
  emit(new DraftOperands(host.target), shape, ({ row, splits, isSwapped }, predicted) => {
    const isKnown = ways.some((way) => way.row === row);
    if (splits === 1 && !isSwapped && !isKnown) ways.push({ row, predicted });
    return true;
  });
  return ways.toSorted((x, y) => x.predicted - y.predicted);
}

function measure(host: HarnessHost, shape: Shape, { row, predicted }: Way): Row {
  const [m, n, k, first, end] = shape;
  const bytes = 2 * (m * k + n * k + m * n * (end === "residual" ? 2 : 1));
  const calls = Array.from({ length: setCount(bytes, host.context.device.l2Bytes) }, () => {
    const set = new CallSet(host, false);
    emit(set, shape, (choice) => choice.row === row && choice.splits === 1 && !choice.isSwapped);
    set.prepare();
    return set;
  });
  try {
    const roof = bytes / host.target.bandwidth.dram;
    return {
      ...{ size: `${m}x${n}x${k}`, first, residual: end === "residual" },
      ...{ isThin: row.kind === "thin", kernel: row.kind === "skinny" ? "skinny" : row.tile },
      ...{ us: rounded(timeCalls(host, calls)), predicted: rounded(predicted), roof: rounded(roof) },
    };
  } finally {
    for (const set of calls) set[Symbol.dispose]();
  }
}

function rounded(value: number): number {
  return Math.round(100 * value) / 100;
}

function show(rows: readonly Row[]): void {
  const byTime = rows.toSorted((x, y) => x.us - y.us);
  const [own, other] = [byTime.find(({ isThin }) => isThin), byTime.find(({ isThin }) => !isThin)];
  const chosen = rows.toSorted((x, y) => x.predicted - y.predicted)[0];
  if (own === undefined || other === undefined || chosen === undefined) return;
  const name = `${own.size} ${own.first}${own.residual ? " + residual" : ""}`.padEnd(32);
  const all = rows.map(({ kernel, us, predicted }) => `${kernel} ${us} (${predicted})`).join(", ");
  console.log(
    `${name} roof ${own.roof}: ${other.kernel} ${other.us}, ${own.kernel} ${own.us}, ${(other.us / own.us).toFixed(2)}x; ` +
      `chosen ${chosen.kernel} ${chosen.us} | ${all}`,
  );
}

using host = await HarnessHost.open({ kernels: new URL("../cuda/", import.meta.url), device: 0 });
const all: Row[] = [];
for (const shape of shapes) {
  if (options.only !== undefined && !options.only.split(",").includes(shape.slice(0, 3).join("x"))) continue;
  const rows: Row[] = [];
  try {
    const ways = waysOf(host, shape);
    const own = ways.filter(({ row }) => row.kind === "thin").slice(0, Number(options.most));
    const others = ways.filter(({ row }) => row.kind !== "thin").slice(0, Number(options.others));
    for (const way of [...others, ...own]) rows.push(measure(host, shape, way));
  } catch (error) {
    console.log(`${shape.join(" ")}: ${error instanceof Error ? error.message : String(error)}`);
  }
  show(rows);
  all.push(...rows);
  writeFileSync(path.join(process.env["OUT"] ?? ".", "thin.json"), JSON.stringify(all));
}
