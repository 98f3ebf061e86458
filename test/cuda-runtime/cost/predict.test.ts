/** @file Predicted times of launches: what carries one, what it depends on, and that it is near what an H200 measured. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  emitChain,
  emitHeads,
  emitLayer,
  emitProduct,
  emitRows,
  type Operands,
} from "../../../bench/gpu/operations.ts";
import {
  aloneMicroseconds,
  bytesMoved,
  passMicroseconds,
  predictedMicroseconds,
} from "../../../cuda-runtime/cost/predict.ts";
import type { Action } from "../../../cuda-runtime/ir/step.ts";
import { h200 } from "../../../cuda-runtime/ir/step.ts";
import { sumsInTeam } from "../../../cuda-runtime/kernels/gemm/table.ts";
import { emitGather } from "../../../cuda-runtime/kernels/movement/gather.ts";
import { PlanDraft } from "../../../cuda-runtime/plan/buffers.ts";
import { DraftOperands } from "../../../cuda-runtime/plan/draft-operands.ts";
import { machineNamed } from "../../../src/hardware/machine.ts";
import { measuredRows } from "./measured-ways.ts";

function actionsOf(emit: (set: Operands) => void, target = h200): Action[] {
  const set = new DraftOperands(target);
  emit(set);
  return set.actions();
}

function microsecondsOf(emit: (set: Operands) => void, target = h200): number {
  return actionsOf(emit, target).reduce((sum, action) => sum + aloneMicroseconds(action, target), 0);
}

const layer = { channels: 64, size: [56, 56], filters: 64, taps: 3, stride: 1, pad: 1, groups: 1 };

const deep = { M: 128, N: 768, K: 3072 };

const operations: Readonly<Record<string, (set: Operands) => void>> = {
  product: (set) => void emitProduct(set, { M: 4096, N: 4096, K: 4096 }, "float16"),
  "product in a cluster's splits": (set) => void emitProduct(set, deep, "float16"),
  // By a workspace, and a second launch.
  "product in splits": (set) => void emitProduct(set, deep, "float16", ({ row }) => !sumsInTeam(row)),
  convolution: (set) => void emitLayer(set, layer, 32, "float16"),
  "convolution of odd channels": (set) =>
    void emitLayer(set, { ...layer, channels: 67, filters: 129 }, 32, "float16"),
  depthwise: (set) => void emitLayer(set, { ...layer, groups: 64 }, 32, "float16"),
  attention: (set) => void emitHeads(set, [4, 16, 2048, 2048, 64, false], "float16"),
  layernorm: (set) => emitRows(set.emitter, "layernorm", ...rows(set)),
  softmax: (set) => emitRows(set.emitter, "softmax", ...rows(set)),
  chain: (set) => void emitChain(set, "gelu", [16_384, 1024]),
};

function rows(set: Operands) {
  const shape = [16_384, 1024];
  return [set.tensor("input", "float16", shape, 1), set.output("float16", shape)] as const;
}

describe("predicted time", () => {
  it.each(Object.entries(operations))("of a %s is carried by each of its launches", (_, emit) => {
    const actions = actionsOf(emit);
    expect(actions.length).toBeGreaterThan(0);
    for (const action of actions) {
      const own = action.kind === "launch" ? action.launch.predictedMicroseconds : undefined;
      expect(own).toBeGreaterThan(1);
    }
  });

  it.each(Object.entries(operations))("of a %s grows as GPUs get smaller", (_, emit) => {
    const times = ["h200", "a100", "l4"].map((id) => microsecondsOf(emit, machineNamed(id)));
    const [large = 0, middle = 0, small = 0] = times;
    expect(middle).toBeGreaterThan(large);
    expect(small).toBeGreaterThan(1.5 * middle);
  });

  // The rest of what was measured: node scripts/run.mjs bench/gpu/predicted.ts
  it("is within a fifth of what an H200 measured", () => {
    const measured: readonly (readonly [string, number])[] = [
      ["product", measuredOf("gpu-gemm", { M: 4096, N: 4096, K: 4096 })],
      ["product in a cluster's splits", measuredOf("gpu-gemm", deep)],
      ["convolution", measuredHalo("conv_f16_p256x64")],
      ["attention", measuredOf("gpu-attention", { B: 4, S_q: 2048, head_dim: 64, causal: false })],
      ["layernorm", measuredOf("gpu-norm-fp16", { op: "layernorm", rows: 16_384, cols: 1024 })],
      ["softmax", measuredOf("gpu-norm-fp16", { op: "softmax", rows: 16_384, cols: 1024 })],
      ["chain", measuredOf("gpu-chain", { op: "gelu", rows: 16_384, cols: 1024 })],
    ];
    for (const [name, us] of measured) {
      const emit = operations[name] ?? (() => {});
      expect(Math.abs(Math.log(microsecondsOf(emit) / us)), name).toBeLessThan(0.2);
    }
  });
});

/** On an H100, of 32 images of 64 channels and 56 x 56, by 64 filters of 3 x 3. */
function measuredHalo(entry: string): number {
  interface Row {
    readonly batch?: number;
    readonly channels?: number;
    readonly size?: readonly number[];
    readonly filters?: number;
    readonly entry?: string;
    readonly us?: number;
  }
  const file = new URL("../../../bench/measurements/h100-conv-halo.jsonl", import.meta.url);
  const rows: Row[] = readFileSync(file, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const found = rows.find(
    (row) =>
      row.entry === entry &&
      row.batch === 32 &&
      row.channels === 64 &&
      row.size?.[0] === 56 &&
      row.filters === 64,
  );
  return found?.us ?? Number.NaN;
}

/** Of the first row that has these sizes. */
function measuredOf(file: string, wanted: Readonly<Record<string, unknown>>): number {
  interface Row {
    readonly us: number;
    readonly op: Readonly<Record<string, unknown>> | string;
  }
  const text = readFileSync(new URL(`../../../bench/results/${file}.json`, import.meta.url), "utf8");
  const { rows }: { readonly rows: readonly Row[] } = JSON.parse(text);
  const found = rows.find((row) => {
    const sizes: Readonly<Record<string, unknown>> = {
      ...row,
      ...(typeof row.op === "string" ? {} : row.op),
    };
    return Object.entries(wanted).every(([key, value]) => sizes[key] === value);
  });
  return found?.us ?? Number.NaN;
}

describe("a pass over memory", () => {
  it("takes a launch, and its bytes at what the GPU's memory reaches", () => {
    const [small = 0, large = 0] = [0, 1e9].map((bytes) => passMicroseconds({ bytes }, h200));
    expect(small).toBeGreaterThan(0.5);
    expect(large - small).toBeCloseTo(1e9 / h200.bandwidth.dram);
    expect(machineNamed("l4").bandwidth.dram / h200.bandwidth.dram).toBeCloseTo(300 / 4800);
  });

  it("is what launches without a model of their own are taken for", () => {
    const draft = new PlanDraft();
    const view = draft.allocate("input", "float32", [1024, 1024]);
    const expected = passMicroseconds({ bytes: 2 ** 22 }, h200);
    expect(aloneMicroseconds({ kind: "clear", view }, h200)).toBe(expected);
    const inModel = predictedMicroseconds({ kind: "clear", view }, h200);
    expect(inModel).toBeCloseTo(expected + 0.01 + (1.02 * 3e6) / h200.bandwidth.dram, 9);
    const first = predictedMicroseconds({ kind: "clear", view, opensRun: true }, h200);
    expect(first).toBeCloseTo(inModel + 3.3, 9);
    // Launches one behind the end of another.
    const a100 = machineNamed("a100");
    const apart = passMicroseconds({ bytes: 2 ** 22 }, a100) + 0.07 + (1.02 * 3e6) / a100.bandwidth.dram;
    expect(predictedMicroseconds({ kind: "clear", view }, a100)).toBeCloseTo(apart, 9);
  });

  it("reads what the launches before left in the L2 as fast as chains of whole models do, and the rest from DRAM", () => {
    const h100 = machineNamed("h100");
    const isLeftInL2 = true;
    const chains = measuredRows<{ kernel?: string; own: number; bytes: number }>(
      "h100-batch-launches.jsonl",
    ).filter(({ kernel }) => kernel?.startsWith("chain_"));
    for (const [least, most] of [
      [4e6, 16e6],
      [16e6, 32e6],
      [36e6, 46e6],
      [50e6, 100e6],
    ] as const) {
      const ratios = chains
        .filter(({ bytes }) => bytes >= least && bytes < most)
        .map(({ bytes, own }) => passMicroseconds({ bytes, isLeftInL2 }, h100) / own)
        .sort((a, b) => a - b);
      expect(ratios.length).toBeGreaterThan(8);
      const median = ratios[Math.floor(ratios.length / 2)] ?? Number.NaN;
      expect(Math.abs(median - 1), `${least / 1e6} to ${most / 1e6} MB`).toBeLessThan(0.3);
    }
    expect(passMicroseconds({ bytes: 1e8, isLeftInL2 }, h100)).toBe(passMicroseconds({ bytes: 1e8 }, h100));
  });

  it("counts a view once, and elements that repeat once", () => {
    const draft = new PlanDraft();
    const view = draft.allocate("input", "float16", [8, 16]);
    const repeated = { ...view, strides: [0, 1] };
    expect(bytesMoved([view, view])).toBe(256);
    expect(bytesMoved([repeated])).toBe(32);
  });

  it("reads of a table what is looked up", () => {
    const time = (size: number) =>
      microsecondsOf((set) => {
        const from = set.tensor("input", "float16", [size, 768], 1);
        const indices = set.tensor("input", "int64", [128], 2);
        const to = set.output("float16", [128, 768]);
        const request = { from, indices, to, fromStrides: [0, 1], indexStrides: [1, 0], depthStride: 1 };
        emitGather(set.emitter, { ...request, lookup: [{ size, stride: 768 }] });
      });
    expect(time(50_000)).toBe(time(5000));
  });
});
