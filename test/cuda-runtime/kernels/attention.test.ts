/** @file Attention: choice of tiles, packing of parameters, what the launches read and write. */

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { h200, type Launch } from "../../../cuda-runtime/ir/step.ts";
import type { FloatStorage } from "../../../cuda-runtime/ir/storage.ts";
import { expanded, permuted, sliced, type View } from "../../../cuda-runtime/ir/view.ts";
import {
  type AttentionRequest,
  emitAttention,
  emitScores,
  unlimited,
} from "../../../cuda-runtime/kernels/attention/attention.ts";
import {
  type AttentionChoice,
  chooseAttention,
  fittingTiles,
} from "../../../cuda-runtime/kernels/attention/choose.ts";
import type { AttentionWork } from "../../../cuda-runtime/kernels/attention/cost.ts";
import { attentionStruct } from "../../../cuda-runtime/kernels/attention/params.table.ts";
import { sharingKeys } from "../../../cuda-runtime/kernels/attention/sharing.ts";
import { tensorTiles } from "../../../cuda-runtime/kernels/attention/tiles.ts";
import { attentionHopperStruct } from "../../../cuda-runtime/kernels/attention-hopper/params.table.ts";
import { PlanDraft } from "../../../cuda-runtime/plan/buffers.ts";
import { PlanEmitter } from "../../../cuda-runtime/plan/emitter.ts";
import { machineNamed } from "../../../src/hardware/machine.ts";

const turing = machineNamed("t4");
const ada = machineNamed("rtx4090");

function source(family: string): string {
  const file = `../../../cuda-runtime/kernels/${family}/${family}.cu`;
  return readFileSync(new URL(file, import.meta.url), "utf8");
}

interface Sizes {
  readonly type?: FloatStorage;
  readonly heads?: number;
  readonly queries?: number;
  readonly keys?: number;
  readonly dim?: number;
}

/** Q, K and V side by side in rows, as one product makes them. */
function launchesOf(sizes: Sizes, more: Partial<AttentionRequest> = {}, target = h200): Launch[] {
  const { type = "float16", heads = 8, queries = 256, keys = queries, dim = 64 } = sizes;
  const draft = new PlanDraft();
  const emitter = new PlanEmitter(draft, target, false);
  const part = (length: number, index: number) => {
    const rows = draft.allocate("input", type, [2, length, 3, heads, dim]);
    const one = sliced(rows, 2, index, 1);
    return permuted(
      { ...one, shape: one.shape.toSpliced(2, 1), strides: one.strides.toSpliced(2, 1) },
      [0, 2, 1, 3],
    );
  };
  emitAttention(emitter, {
    q: part(queries, 0),
    k: part(keys, 1),
    v: part(keys, 2),
    o: emitter.temporary(type, [2, heads, queries, dim], [0, 2, 1, 3]),
    scale: 1 / 8,
    softcap: 0,
    position: 0,
    left: unlimited,
    right: unlimited,
    emptyRows: "nan",
    ...more,
  });
  return draft.finish().steps.flatMap(({ action }) => (action.kind === "launch" ? [action.launch] : []));
}

function entriesOf(launches: readonly Launch[]): string[] {
  return launches.map(({ kernel }) => kernel.entry);
}

describe("tiles of attention", () => {
  it("are the entries of attention.cu", () => {
    const text = source("attention");
    const listed = [
      ...text.matchAll(/^TENSOR_ATTENTION\((\d+), (\d), (\d+), \w+, (plain|masked), \w+\)$/gm),
    ].map(([, headDim, rowTiles, keys, form]) => `${headDim} ${rowTiles} ${keys} ${form}`);
    const apart = [...text.matchAll(/^APART_ATTENTION\((\d+), (plain|masked), \w+\)$/gm)];
    listed.push(...apart.map(([, headDim, form]) => `${headDim} 1 256 ${form}`));
    const own = tensorTiles.filter(({ hopper }) => hopper === undefined);
    const known = own.flatMap(({ headDim, rowTiles, keys, isPlain, isMasked }) => [
      ...(isPlain ? [`${headDim} ${rowTiles} ${keys} plain`] : []),
      ...(isMasked ? [`${headDim} ${rowTiles} ${keys} masked`] : []),
    ]);
    expect(apart.length).toBeGreaterThan(0);
    expect(listed.length).toBeGreaterThan(apart.length);
    expect(known.sort()).toEqual(listed.sort());
  });

  it("are the entries of attention-hopper.cu", () => {
    const text = source("attention-hopper");
    const listed = [...text.matchAll(/^HOPPER_ATTENTION(_PAIR)?\(([\d, ]+)\)$/gm)].map(
      ([, pair, numbers = ""]) => (pair === undefined ? numbers : `${numbers}, pair`),
    );
    const known = tensorTiles.flatMap(({ headDim, keys, hopper }) => {
      if (hopper === undefined) return [];
      const { groups, stages, blocks, isPair } = hopper;
      return [[headDim, groups, keys, stages, ...(isPair ? ["pair"] : [blocks])].join(", ")];
    });
    expect(listed.length).toBeGreaterThan(0);
    expect(known.sort()).toEqual(listed.sort());
  });

  it("hold the head, and fit into shared memory", () => {
    for (const target of [h200, ada, turing]) {
      for (const isMasked of [false, true]) {
        for (const dim of [8, 33, 64, 72, 128, 200, 256]) {
          for (const tile of fittingTiles({ dim, isMasked }, target)) {
            expect(tile.headDim).toBeGreaterThanOrEqual(dim);
            expect(tile.sharedBytes).toBeLessThanOrEqual(target.sharedBytesPerBlock);
          }
        }
      }
    }
    expect(fittingTiles({ dim: 256, isMasked: true }, h200).map(({ headDim }) => headDim)).toEqual([256]);
    expect(fittingTiles({ dim: 256, isMasked: true }, turing)).toEqual([]);
  });

  it("are larger where there is work for the whole GPU", () => {
    const size = { queries: 2048, keys: 500, dim: 64 };
    expect(chosen({ ...size, blocks: 64 }).tile.queries).toBeGreaterThanOrEqual(128);
    expect(chosen({ ...size, queries: 256, keys: 256, blocks: 16 }).tile.queries).toBe(64);
    expect(chosen({ ...size, blocks: 64 }, ada).tile).toMatchObject({ queries: 128, rowTiles: 2 });
    expect(chosen({ ...size, blocks: 2 }, ada).tile).toMatchObject({ queries: 64, rowTiles: 1 });
  });

  it("are Hopper's where there is no mask and wgmma, and keys are fetched for two blocks where heads are large", () => {
    const size = { queries: 2048, keys: 2048, blocks: 64 };
    expect(chosen({ ...size, dim: 64 }).tile.hopper).toMatchObject({ groups: 3 });
    expect(chosen({ ...size, dim: 128 }).tile.hopper).toMatchObject({ groups: 2, isPair: true });
    expect(chosen({ ...size, dim: 64 }, ada).tile.hopper).toBeUndefined();
    expect(fittingTiles({ dim: 64, isMasked: true }, h200).some(({ hopper }) => hopper)).toBe(false);
  });

  it("give warps keys of their own where a wave of small tiles holds all queries", () => {
    const size = { queries: 197, keys: 197, dim: 64 };
    expect(chosen({ ...size, blocks: 3 }).tile).toMatchObject({ isApart: true, queries: 16 });
    expect(chosen({ ...size, blocks: 12 }).tile.isApart).toBeUndefined();
    expect(chosen({ ...size, blocks: 96 }).tile.isApart).toBeUndefined();
  });

  it("split keys for few queries alone", () => {
    const size = { queries: 1, keys: 8192, dim: 128 };
    expect(chosen({ ...size, blocks: 8 }).splits).toBeGreaterThan(4);
    expect(chosen({ ...size, blocks: 200 }).splits).toBe(1);
    expect(chosen({ ...size, keys: 300, blocks: 8 }).splits).toBe(1);
  });
});

/** Of packed operands of halves, without masks. */
function chosen(
  size: Pick<AttentionWork, "blocks" | "queries" | "keys" | "dim">,
  target = h200,
): AttentionChoice {
  const { blocks, queries, keys, dim } = size;
  const work: AttentionWork = {
    ...{ ...size, isMasked: false, isCausal: false, partialFloats: dim + 2 },
    ...{ inputBytes: 2 * blocks * (queries + 2 * keys) * dim, outputBytes: 2 * blocks * queries * dim },
  };
  const best = chooseAttention(work, fittingTiles(work, target), target);
  if (best === undefined) throw new Error("no tile");
  return best.launch;
}

describe("launches of attention", () => {
  it("pack the struct of the kernels", () => {
    for (const sizes of [{}, { type: "float32" }, { queries: 1, keys: 4096 }] as const) {
      for (const { kernel, params } of launchesOf(sizes)) {
        const isHopper = kernel.kind === "built" && kernel.family === "attention-hopper";
        const struct = isHopper ? attentionHopperStruct : attentionStruct;
        expect(params.bytes.length).toBe(struct.bytes);
      }
    }
  });

  it("take heads of a merged product without a copy", () => {
    expect(entriesOf(launchesOf({}))).toEqual(["attention_f16_d64_h1k64_plain"]);
    expect(entriesOf(launchesOf({ type: "bfloat16", dim: 40 }))).toEqual(["attention_bf16_d48_h1k64_plain"]);
    expect(entriesOf(launchesOf({}, {}, ada))).toEqual(["attention_f16_d64_m1_plain"]);
    expect(entriesOf(launchesOf({ type: "float32", dim: 40 }))).toEqual(["attention_plain_d64"]);
    expect(entriesOf(launchesOf({ type: "bfloat16" }, {}, turing))).toEqual(["attention_plain_d64"]);
  });

  it("copy rows that are not aligned, and pad odd results", () => {
    const entries = entriesOf(launchesOf({ dim: 33 }));
    expect(entries.filter((entry) => entry.startsWith("attention_"))).toEqual([
      "attention_f16_d48_h1k64_plain",
    ]);
    expect(entries).toHaveLength(5);
  });

  it("use the masked kernel for whatever changes scores", () => {
    const emitter = new PlanEmitter(new PlanDraft(), h200, false);
    const bias: View = expanded(emitter.temporary("float32", [1, 1, 1, 256, 256]), [2, 1, 8, 256, 256]);
    for (const more of [{ bias }, { softcap: 30 }, { scale: -1 }]) {
      expect(entriesOf(launchesOf({}, more))).toEqual(["attention_f16_d64_m1_masked"]);
    }
  });

  it("have one block of Hopper's for as many tiles as it computes, one for each where they differ in length", () => {
    const sizes = { heads: 64, queries: 2048, dim: 128 };
    const [uniform] = launchesOf(sizes);
    expect(uniform?.grid).toEqual([h200.multiprocessors, 1, 1]);
    expect(uniform?.cluster).toEqual([2, 1, 1]);
    const [causal] = launchesOf(sizes, { right: 0 });
    expect(causal?.grid).toEqual([2 * 64 * 16, 1, 1]);
  });

  it("read operands that repeat without the copy engine, which knows no such axis", () => {
    const emitter = new PlanEmitter(new PlanDraft(), h200, false);
    const one = emitter.temporary("float16", [1, 1, 256, 64]);
    const entries = entriesOf(launchesOf({}, { k: expanded(one, [2, 8, 256, 64]) }));
    expect(entries).toEqual(["attention_f16_d64_m1_plain"]);
  });

  it("sum splits behind the last of them", () => {
    const [first, second] = launchesOf({ queries: 1, keys: 4096 });
    expect(second?.kernel.entry).toBe("attention_combine");
    expect(second?.reads).toEqual(first?.writes);
  });

  it("write scores on request", () => {
    const draft = new PlanDraft();
    const emitter = new PlanEmitter(draft, h200, false);
    const [q, k] = [
      [1, 2, 9, 8],
      [1, 2, 30, 8],
    ].map((shape) => draft.allocate("input", "float32", shape));
    if (q === undefined || k === undefined) throw new Error("no operands");
    const scores = emitter.temporary("float32", [1, 2, 9, 30]);
    const rest = { scale: 1, softcap: 0, position: 0, left: unlimited, right: 0, emptyRows: "zero" } as const;
    emitScores(emitter, { q, k, ...rest }, scores, "weights");
    const [step] = draft.finish().steps;
    expect(step?.action.kind === "launch" && step.action.launch.writes).toEqual([scores]);
    expect(step?.action.kind === "launch" && step.action.launch.params.bytes.length).toBe(
      attentionStruct.bytes,
    );
  });
});

describe("heads that share keys, of one query", () => {
  const view = (shape: readonly number[], strides: readonly number[]): View => {
    const { buffer, offset, type } = new PlanDraft().allocate("input", "float16", [2 ** 20]);
    return { buffer, offset, type, shape, strides };
  };
  const request = (more: Partial<AttentionRequest>): AttentionRequest => ({
    q: view([2, 6, 1, 64], [384, 64, 384, 1]),
    k: view([2, 2, 90, 64], [11_520, 5760, 64, 1]),
    v: view([2, 2, 90, 64], [11_520, 5760, 64, 1]),
    o: view([2, 6, 1, 64], [384, 64, 384, 1]),
    ...{ scale: 1, softcap: 0, position: 0, left: unlimited, right: unlimited, emptyRows: "nan" },
    ...more,
  });

  it("are queries of one head each, whose masks are as they were", () => {
    const bias = view([1, 2, 6, 1, 90], [0, 540, 90, 90, 1]);
    const shared = sharingKeys(request({ bias }));
    const [, ofInner = 0, ofHead = 0, ofQuery = 0] = shared?.bias?.strides ?? [];
    expect(shared?.q.shape).toEqual([2, 2, 3, 64]);
    expect(shared?.o.strides).toEqual([384, 192, 64, 1]);
    for (let head = 0; head < 6; head++) {
      expect(ofInner + Math.floor(head / 3) * ofHead + (head % 3) * ofQuery).toBe(540 + head * 90);
    }
  });

  it.each([
    ["a query in the middle that does not look ahead", { position: 40, right: 0 }],
    ["a window", { position: "end", left: 30, right: 0 }],
    ["a query that sees nothing", { position: -20, right: 0 }],
    ["two queries", { q: view([2, 6, 2, 64], [768, 64, 384, 1]) }],
    ["keys of its own for each head", { k: view([2, 6, 90, 64], [34_560, 5760, 64, 1]) }],
  ] as const)("stay heads with %s", (_, more) => {
    expect(sharingKeys(request(more))).toBeUndefined();
  });

  it.each([
    ["at the end of what counts", { position: "end", right: 0 }],
    ["at the last key", { position: 89, right: 0, left: 89 }],
  ] as const)("are queries where the query is %s", (_, more) => {
    expect(sharingKeys(request(more))?.right).toBe(unlimited);
  });
});
