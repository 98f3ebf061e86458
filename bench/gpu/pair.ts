/**
 * @file Two products one behind another, as networks of batch 1 have them: two launches as the planner takes them, beside every way to compute
 * both in one, in one run.
 *
 *     node dist/gpu/pair.js [--only MxKxNxN2,…]
 *
 * Writes $OUT/pair.json: rows {size, way, us, warm, predicted}. `us`: with operands from DRAM, `warm`: from L2.
 */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { emitGemm } from "../../cuda-runtime/kernels/gemm/gemm.ts";
import { pairLaunch, pairWays } from "../../cuda-runtime/kernels/gemm-pair/pair.ts";
import { DraftOperands } from "../../cuda-runtime/plan/draft-operands.ts";
import { HarnessHost } from "../../cuda-runtime/session/harness.ts";
import { CallSet, setCount, timeCalls } from "../../cuda-runtime/session/kernel-timer.ts";
import {
  apartMicroseconds,
  nameOf,
  type PairShape,
  pairOf,
  requestsOf,
  shapes,
  sizeOf,
} from "./pair-work.ts";

interface Row {
  readonly size: string;
  readonly way: string;
  readonly us: number;
  readonly warm: number;
  readonly predicted: number;
}

const { values: options } = parseArgs({ options: { only: { type: "string" } } });

function rounded(value: number): number {
  return Math.round(100 * value) / 100;
}

function timed(host: HarnessHost, bytes: number, emit: (set: CallSet) => void): { us: number; warm: number } {
  const count = setCount(bytes, host.context.device.l2Bytes);
  const calls = Array.from({ length: count }, () => {
    const set = new CallSet(host, false);
    emit(set);
    set.prepare();
    return set;
  });
  try {
    return { us: rounded(timeCalls(host, calls)), warm: rounded(timeCalls(host, calls.slice(0, 1))) };
  } finally {
    for (const set of calls) set[Symbol.dispose]();
  }
}

function measure(host: HarnessHost, own: PairShape): Row[] {
  const { m, k, n, n2, isKept } = own;
  const size = sizeOf(own);
  const bytes = 2 * (m * k + n * k + m * n + n * n2 + m * n2);
  const apart = apartMicroseconds(own, host.target);
  const two = timed(host, bytes, (set) => {
    for (const request of requestsOf(set, own)) emitGemm(set.emitter, request);
  });
  const rows: Row[] = [{ size, way: "two launches", ...two, predicted: rounded(apart) }];
  const drafted = new DraftOperands(host.target);
  const drawn = pairOf(requestsOf(drafted, own), isKept);
  for (const way of pairWays(drawn, host.target)) {
    const emit = (set: CallSet) => set.emitter.launch(pairLaunch(pairOf(requestsOf(set, own), isKept), way));
    rows.push({ size, way: nameOf(way), ...timed(host, bytes, emit), predicted: rounded(way.microseconds) });
  }
  return rows;
}

using host = await HarnessHost.open({ kernels: new URL("../cuda/", import.meta.url), device: 0 });
const all: Row[] = [];
for (const own of shapes) {
  if (
    options.only !== undefined &&
    !options.only.split(",").includes([own.m, own.k, own.n, own.n2].join("x"))
  )
    continue;
  const rows = measure(host, own);
  const texts = rows.map(({ way, us, warm, predicted }) => `${way} ${us} ${warm} (${predicted})`);
  console.log(`${rows[0]?.size}: ${texts.join(", ")}`);
  all.push(...rows);
  writeFileSync(path.join(process.env["OUT"] ?? ".", "pair.json"), JSON.stringify(all));
}
