/** @file Attention on the GPU against loops in double precision. */

import type { FloatStorage } from "../../../cuda-runtime/ir/storage.ts";
import { elementCount, expanded, stridesOf, type View } from "../../../cuda-runtime/ir/view.ts";
import {
  type AttentionRequest,
  emitAttention,
  emitScores,
  type scoresModes,
  unlimited,
} from "../../../cuda-runtime/kernels/attention/attention.ts";
import { type TensorTile, tensorTiles } from "../../../cuda-runtime/kernels/attention/tiles.ts";
import type { Harness, KernelCase, Tolerance } from "../../../cuda-runtime/session/harness.ts";

type HopperKey = readonly [headDim: number, groups: number, keys: number, isPair: boolean];

interface AttentionCase {
  readonly type: FloatStorage;
  /** Of the result. */
  readonly to?: FloatStorage;
  readonly batch?: number;
  readonly heads?: number;
  /** Heads that share one head of keys. */
  readonly group?: number;
  readonly queries: number;
  readonly keys?: number;
  readonly dim: number;
  readonly valueDim?: number;
  /** Memory is [batch, heads, length, dim]; [batch, length, heads, dim] unless set. */
  readonly isHeadsFirst?: boolean;
  /** Elements between rows beyond the packed ones. */
  readonly pitch?: number;
  readonly position?: number | "end";
  readonly left?: number;
  readonly right?: number;
  /** Type of an additive mask, and the axes it has: of outer batch, inner batch, heads, queries, keys. */
  readonly bias?: {
    readonly type: FloatStorage;
    readonly shape: readonly number[];
    readonly blocks?: number;
  };
  /** A mask of bytes with the same axes. */
  readonly keep?: { readonly shape: readonly number[]; readonly fill: number };
  /** Keys of each sample that count. */
  readonly counts?: readonly number[];
  readonly softcap?: number;
  readonly scale?: number;
  readonly emptyRows?: "zero" | "nan";
  readonly isSoftInfinity?: boolean;
  /** Tiles are chosen for a GPU of one multiprocessor. */
  readonly isCrowded?: boolean;
  /** One of attention-hopper.cu's instead of the one that is chosen: head size, warpgroups, keys of a step; in pairs of blocks. */
  readonly hopper?: HopperKey;
}

interface Built {
  readonly request: AttentionRequest;
  readonly expected: Float64Array;
  /** Scores before the softmax, masked; [batch, heads, queries, keys]. */
  readonly scores: Float64Array;
}

const tolerances: Readonly<Record<FloatStorage, Tolerance>> = {
  float32: { relative: 1e-5, absolute: 1e-5 },
  float16: { relative: 1e-3, absolute: 1e-3 },
  bfloat16: { relative: 1e-2, absolute: 1e-2 },
};

function nameOf(each: AttentionCase): string {
  const { type, to, batch = 1, heads = 2, group = 1, queries, keys = queries, dim, valueDim, ...rest } = each;
  const flags = Object.entries(rest).map(([name, value]) => `${name} ${JSON.stringify(value)}`);
  const sizes = `${batch}x${heads}${group > 1 ? `/${group}` : ""} ${queries}x${keys}x${dim}${valueDim ? `/${valueDim}` : ""}`;
  return [type, to && `to ${to}`, sizes, ...flags].filter(Boolean).join(" ");
}

function operand(harness: Harness, each: AttentionCase, shape: readonly number[], seed: number): View {
  const { type, isHeadsFirst = false, pitch = 0 } = each;
  const padded = shape.with(-1, (shape.at(-1) ?? 1) + pitch);
  const strides = stridesOf(padded, isHeadsFirst ? [0, 1, 2, 3] : [0, 2, 1, 3]);
  return harness.tensor(type, shape, { strides, seed, scale: seed === 3 ? 1 : 2 });
}

function build(harness: Harness, each: AttentionCase): Built {
  const {
    type,
    to = type,
    batch = 1,
    heads = 2,
    group = 1,
    queries,
    keys = queries,
    dim,
    valueDim = dim,
  } = each;
  const q = operand(harness, each, [batch, heads, queries, dim], 1);
  const k = operand(harness, each, [batch, heads / group, keys, dim], 2);
  const v = operand(harness, each, [batch, heads / group, keys, valueDim], 3);
  const o = harness.output(to, [batch, heads, queries, valueDim], [0, 2, 1, 3]);
  const own = each.bias?.shape ?? each.keep?.shape ?? [1, 1, 1, 1, 1];
  const inner = Math.max(1, own[1] ?? 1);
  const five = [batch / inner, inner, heads, queries, keys];
  const bias = each.bias && expanded(biasTensor(harness, each.bias), five);
  const keep = each.keep && expanded(harness.tensor("bool", each.keep.shape, { seed: 5 }), five);
  const request: AttentionRequest = {
    q,
    k,
    v,
    o,
    bias,
    keep,
    fill: each.keep?.fill,
    keyCounts: each.counts && harness.tensor("int64", [batch], { values: each.counts }),
    scale: each.scale ?? 1 / Math.sqrt(dim),
    softcap: each.softcap ?? 0,
    position: each.position ?? 0,
    left: each.left ?? unlimited,
    right: each.right ?? unlimited,
    emptyRows: each.emptyRows ?? "nan",
    isSoftInfinity: each.isSoftInfinity,
  };
  return { request, ...reference(harness, request) };
}

/** Of `blocks` in a hundred, -inf. */
function biasTensor(harness: Harness, { type, shape, blocks = 0 }: NonNullable<AttentionCase["bias"]>): View {
  const drawn = harness.values(harness.tensor("float32", shape, { seed: 4, scale: 2 }));
  const values = drawn.map((value, index) =>
    (index * 37) % 101 < blocks ? Number.NEGATIVE_INFINITY : value,
  );
  return harness.tensor(type, shape, { values });
}

/** Elements of an expanded view by its coordinates. */
function reader(harness: Harness, view: View | undefined): (at: readonly number[]) => number {
  if (view === undefined) return () => 0;
  const compact = { ...view, shape: view.shape.map((size, axis) => (view.strides[axis] === 0 ? 1 : size)) };
  const values = harness.values(compact);
  const strides = stridesOf(compact.shape);
  return (at) =>
    values[
      at.reduce((sum, index, axis) => sum + (compact.shape[axis] === 1 ? 0 : index * (strides[axis] ?? 0)), 0)
    ] ?? Number.NaN;
}

function reference(
  harness: Harness,
  request: AttentionRequest,
): { expected: Float64Array; scores: Float64Array } {
  const { q, k, v, o } = request;
  const [batch = 1, heads = 1, queries = 1] = q.shape;
  const [kvHeads = 1, keys = 1] = k.shape.slice(1);
  const valueDim = v.shape[3] ?? 1;
  const values = harness.values(v);
  const scores = scoresOf(harness, request);
  const expected = new Float64Array(elementCount(o.shape));
  for (let row = 0; row < batch * heads * queries; row++) {
    const part = scores.subarray(row * keys, (row + 1) * keys);
    const maximum = part.reduce((a, b) => Math.max(a, b));
    const isEmpty = maximum === Number.NEGATIVE_INFINITY;
    const weights = part.map((score) => Math.exp(score - (isEmpty ? 0 : maximum)));
    const total = weights.reduce((a, b) => a + b, 0);
    const sample = Math.floor(row / queries / heads);
    const kvHead = Math.floor((Math.floor(row / queries) % heads) / (heads / kvHeads));
    const base = (sample * kvHeads + kvHead) * keys * valueDim;
    for (let d = 0; d < valueDim; d++) {
      let sum = 0;
      for (let key = 0; key < keys; key++)
        sum += (weights[key] ?? 0) * (values[base + key * valueDim + d] ?? 0);
      expected[row * valueDim + d] = isEmpty ? (request.emptyRows === "zero" ? 0 : Number.NaN) : sum / total;
    }
  }
  return { expected, scores };
}

function scoresOf(harness: Harness, request: AttentionRequest): Float64Array {
  const { q, k, bias, keep, keyCounts, position, left, right, softcap, scale } = request;
  const [batch = 1, heads = 1, queries = 1, dim = 1] = q.shape;
  const [kvHeads = 1, keys = 1] = k.shape.slice(1);
  const [qs, ks] = [harness.values(q), harness.values(k)];
  const inner = (bias ?? keep)?.shape[1] ?? 1;
  const [added, kept] = [reader(harness, bias), reader(harness, keep)];
  const counts = keyCounts && harness.values(keyCounts);
  const scores = new Float64Array(batch * heads * queries * keys);
  let at = 0;
  for (let sample = 0; sample < batch; sample++) {
    const count = counts?.[sample] ?? keys;
    const first = position === "end" ? count - queries : position;
    for (let head = 0; head < heads; head++) {
      const kvHead = Math.floor(head / (heads / kvHeads));
      for (let query = 0; query < queries; query++) {
        const qAt = ((sample * heads + head) * queries + query) * dim;
        for (let key = 0; key < keys; key++) {
          const kAt = ((sample * kvHeads + kvHead) * keys + key) * dim;
          let score = 0;
          for (let d = 0; d < dim; d++) score += (qs[qAt + d] ?? 0) * (ks[kAt + d] ?? 0);
          score *= scale;
          if (softcap !== 0) score = softcap * Math.tanh(score / softcap);
          const place = [Math.floor(sample / inner), sample % inner, head, query, key];
          score += added(place);
          if (request.isSoftInfinity) score = Math.max(score, -1e30);
          if (keep !== undefined && kept(place) === 0) score = request.fill ?? Number.NEGATIVE_INFINITY;
          const distance = key - first - query;
          if (key >= count || distance > right || distance < -left) score = Number.NEGATIVE_INFINITY;
          scores[at++] = score;
        }
      }
    }
  }
  return scores;
}

function attentionCase(each: AttentionCase): KernelCase {
  return {
    name: nameOf(each),
    run(harness) {
      const { request, expected } = build(harness, each);
      const { emitter } = harness;
      const crowded = { ...emitter, target: { ...emitter.target, multiprocessors: 1 } };
      if (each.hopper !== undefined && !emitter.target.features.wgmma) return;
      const tile = each.hopper && hopperTile(each.hopper);
      emitAttention(each.isCrowded ? crowded : emitter, request, tile);
      harness.execute();
      // Weights are rounded to the operands' type, whatever the result's is.
      harness.expectClose(request.o, expected, tolerances[each.type], "attention");
    },
  };
}

function hopperTile([headDim, groups, keys, isPair]: HopperKey): TensorTile {
  const tile = tensorTiles.find(
    ({ headDim: dim, keys: own, hopper }) =>
      dim === headDim && own === keys && hopper?.groups === groups && hopper.isPair === isPair,
  );
  if (tile === undefined) throw new Error(`no tile for heads of ${headDim} by ${groups} warpgroups`);
  return tile;
}

/** Edges of tiles and steps, windows, empty rows, splits, both ways of storing. */
function hopperCases(tile: TensorTile): KernelCase[] {
  const { headDim: dim, hopper } = tile;
  if (hopper === undefined) return [];
  const common = { hopper: [dim, hopper.groups, tile.keys, hopper.isPair], dim } as const;
  const all: AttentionCase[] = [
    { ...common, type: "float16", batch: 2, queries: 250, keys: 300 },
    { ...common, type: "bfloat16", queries: 383, right: 0 },
    { ...common, type: "float16", heads: 12, queries: 130, right: 0 },
    { ...common, type: "float16", queries: 200, keys: 600, right: 7, left: 40, position: 150 },
    // A block computes one tile after another, some without a key.
    { ...common, type: "float16", heads: 3, queries: 400, keys: 150, isCrowded: true },
    {
      ...common,
      type: "bfloat16",
      heads: 3,
      queries: 500,
      right: 0,
      position: -250,
      isCrowded: true,
      emptyRows: "zero",
    },
    { ...common, type: "float16", queries: 1, keys: 1 },
    { ...common, type: "float16", queries: 65, keys: 33 },
    { ...common, type: "bfloat16", heads: 6, group: 3, queries: 3, keys: 4096 },
    { ...common, type: "float16", queries: 77, keys: 129, dim: dim - 3, valueDim: dim - 5, pitch: 8 },
    { ...common, type: "float16", queries: 77, keys: 129, valueDim: 8, isHeadsFirst: true },
    { ...common, type: "float16", queries: 100, keys: 60, right: 0, position: -20, emptyRows: "zero" },
    { ...common, type: "float16", queries: 100, keys: 60, right: 0, position: -20 },
    {
      ...common,
      type: "float16",
      batch: 3,
      queries: 10,
      keys: 300,
      counts: [300, 0, 137],
      emptyRows: "zero",
    },
  ];
  return all.map(attentionCase);
}

/** The issue's seven: the largest difference from FP64, on numbers as large as activations are. */
function budgetCase(batch: number, length: number, heads: number, isCausal: boolean): KernelCase {
  const dim = 64;
  return {
    name: `budget of 5e-4: ${batch},${length},${heads},${dim}${isCausal ? " causal" : ""}`,
    run(harness) {
      const each = {
        type: "float16",
        batch,
        heads,
        queries: length,
        dim,
        ...(isCausal ? { right: 0 } : {}),
      } as const;
      const { request, sample } = sampled(harness, each);
      emitAttention(harness.emitter, request);
      harness.execute();
      const values = harness.read(request.o);
      let worst = 0;
      for (const { row, expected } of sample) {
        for (const [d, wanted] of expected.entries()) {
          const difference = Math.abs((values[row * dim + d] ?? Number.NaN) - wanted);
          worst = difference > worst || Number.isNaN(difference) ? difference : worst;
        }
      }
      if (!(worst <= 5e-4)) throw new Error(`largest difference ${worst}`);
    },
  };
}

/** Too large for all rows in double precision: every 97th. */
function sampled(harness: Harness, each: AttentionCase) {
  const { type, batch = 1, heads = 1, queries, dim, right = unlimited } = each;
  const [q, k, v] = [1, 2, 3].map((seed) =>
    harness.tensor(type, [batch, heads, queries, dim], {
      strides: stridesOf([batch, heads, queries, dim], [0, 2, 1, 3]),
      seed,
    }),
  );
  if (q === undefined || k === undefined || v === undefined) throw new Error("no operands");
  const o = harness.output(type, [batch, heads, queries, dim], [0, 2, 1, 3]);
  const request: AttentionRequest = {
    q,
    k,
    v,
    o,
    scale: 1 / Math.sqrt(dim),
    softcap: 0,
    position: 0,
    left: unlimited,
    right,
    emptyRows: "nan",
  };
  const [qs, ks, vs] = [harness.values(q), harness.values(k), harness.values(v)];
  const sample: { row: number; expected: number[] }[] = [];
  for (let row = 0; row < batch * heads * queries; row += 97) {
    const base = Math.floor(row / queries) * queries * dim;
    const seen = right === 0 ? (row % queries) + 1 : queries;
    const scores = Array.from({ length: seen }, (_, key) => {
      let sum = 0;
      for (let d = 0; d < dim; d++) sum += (qs[row * dim + d] ?? 0) * (ks[base + key * dim + d] ?? 0);
      return sum / Math.sqrt(dim);
    });
    const maximum = scores.reduce((a, b) => Math.max(a, b));
    const weights = scores.map((score) => Math.exp(score - maximum));
    const total = weights.reduce((a, b) => a + b, 0);
    const expected = Array.from(
      { length: dim },
      (_, d) =>
        weights.reduce((sum, weight, key) => sum + weight * (vs[base + key * dim + d] ?? 0), 0) / total,
    );
    sample.push({ row, expected });
  }
  return { request, sample };
}

function scoresCase(each: AttentionCase, mode: keyof typeof scoresModes): KernelCase {
  return {
    name: `scores ${mode}: ${nameOf(each)}`,
    run(harness) {
      const { request, scores } = build(harness, each);
      const [batch = 1, heads = 1, queries = 1] = request.q.shape;
      const keys = request.k.shape[2] ?? 1;
      const to = harness.output("float32", [batch, heads, queries, keys]);
      emitScores(harness.emitter, request, to, mode);
      harness.execute();
      const expected = mode === "weights" ? weightsOf(scores, keys, request.emptyRows) : scores;
      harness.expectClose(to, expected, { relative: 1e-5, absolute: 1e-5 }, mode);
    },
  };
}

function weightsOf(scores: Float64Array, keys: number, emptyRows: "zero" | "nan"): Float64Array {
  const out = new Float64Array(scores.length);
  for (let start = 0; start < scores.length; start += keys) {
    const row = scores.subarray(start, start + keys);
    const maximum = row.reduce((a, b) => Math.max(a, b));
    const isEmpty = maximum === Number.NEGATIVE_INFINITY;
    const total = row.reduce((sum, score) => sum + Math.exp(score - maximum), 0);
    for (const [index, score] of row.entries()) {
      out[start + index] = isEmpty
        ? emptyRows === "zero"
          ? 0
          : Number.NaN
        : Math.exp(score - maximum) / total;
    }
  }
  return out;
}

const dims = [8, 13, 16, 24, 32, 40, 48, 64, 72, 80, 96, 128, 160, 192, 250, 256];
const low = Number.NEGATIVE_INFINITY;
const halves = ["float16", "bfloat16"] as const;

const oneQuery = { batch: 2, heads: 6, group: 3, queries: 1, keys: 2100, dim: 128 } as const;

export const cases: readonly KernelCase[] = [
  ...tensorTiles.flatMap(hopperCases),
  // Every head size on every path; tails of queries and keys.
  ...dims.flatMap((dim) => [
    attentionCase({ type: "float16", queries: 70, keys: 90, dim }),
    attentionCase({ type: "bfloat16", queries: 130, keys: 33, dim, batch: 2 }),
    attentionCase({ type: "float32", queries: 35, keys: 50, dim }),
    attentionCase({
      type: "float16",
      queries: 40,
      keys: 70,
      dim,
      bias: { type: "float16", shape: [1, 1, 1, 40, 70] },
    }),
  ]),
  // As if one multiprocessor had all the work: the larger tile.
  ...[40, 64, 80, 96, 128].flatMap((dim) => [
    attentionCase({ type: "float16", queries: 250, keys: 70, dim, isCrowded: true }),
    attentionCase({ type: "bfloat16", queries: 383, dim, right: 0, isCrowded: true }),
  ]),
  ...([1, 2, 15, 16, 17, 49, 63, 64, 65, 127, 128, 129, 197] as const).map((queries) =>
    attentionCase({ type: "float16", queries, dim: 64 }),
  ),
  attentionCase({ type: "float16", queries: 64, keys: 1, dim: 64 }),
  attentionCase({ type: "float16", queries: 77, dim: 64, isHeadsFirst: true }),
  attentionCase({ type: "float16", queries: 77, dim: 64, pitch: 8 }),
  attentionCase({ type: "float16", queries: 77, dim: 64, pitch: 3 }),
  attentionCase({ type: "float16", queries: 77, dim: 20, valueDim: 64 }),
  attentionCase({ type: "float16", queries: 77, dim: 64, valueDim: 17 }),
  attentionCase({ type: "float16", to: "float32", queries: 77, dim: 64 }),
  attentionCase({ type: "float32", queries: 77, dim: 64, valueDim: 17, pitch: 5 }),
  // Shared heads, positions, windows.
  ...(["float16", "float32"] as const).flatMap((type) => [
    attentionCase({ type, heads: 6, group: 3, queries: 40, keys: 50, dim: 64 }),
    attentionCase({ type, heads: 6, group: 6, queries: 1, keys: 300, dim: 64, right: 0, position: 299 }),
    // One query, whose heads become queries of the keys that they share: masks of each head and of all, a window that leaves it as it is.
    attentionCase({ ...oneQuery, type, bias: { type, shape: [1, 2, 6, 1, 2100], blocks: 30 } }),
    attentionCase({
      ...oneQuery,
      type,
      bias: { type, shape: [1, 1, 1, 1, 2100] },
      position: "end",
      right: 0,
    }),
    attentionCase({ ...oneQuery, type, keep: { shape: [1, 2, 1, 1, 2100], fill: -1e4 }, valueDim: 77 }),
    attentionCase({ ...oneQuery, type, counts: [2100, 700], position: "end", right: 0 }),
    attentionCase({ ...oneQuery, type, counts: [2100, 700], position: "end", left: 90, right: 0 }),
    attentionCase({ type, queries: 200, dim: 64, right: 0 }),
    attentionCase({ type, queries: 30, keys: 200, dim: 64, right: 0, position: 170 }),
    attentionCase({ type, queries: 200, dim: 64, right: 0, left: 40 }),
    attentionCase({ type, queries: 200, dim: 64, right: 7, left: 3 }),
    attentionCase({ type, queries: 100, keys: 60, dim: 64, right: 0, position: -20, emptyRows: "zero" }),
    attentionCase({ type, queries: 100, keys: 60, dim: 64, right: 0, position: -20 }),
    attentionCase({ type, batch: 3, queries: 10, keys: 90, dim: 64, counts: [90, 1, 37] }),
    attentionCase({
      type,
      batch: 3,
      queries: 10,
      keys: 90,
      dim: 64,
      counts: [90, 5, 37],
      right: 0,
      position: "end",
      emptyRows: "zero",
    }),
    attentionCase({ type, batch: 2, queries: 10, keys: 90, dim: 64, counts: [0, 37], emptyRows: "zero" }),
  ]),
  // Masks.
  ...(["float16", "bfloat16", "float32"] as const).flatMap((type) => [
    attentionCase({ type, batch: 4, queries: 49, dim: 32, bias: { type, shape: [2, 2, 2, 49, 49] } }),
    attentionCase({
      type,
      batch: 4,
      queries: 49,
      dim: 32,
      bias: { type: "float32", shape: [1, 4, 1, 49, 49] },
    }),
    attentionCase({
      type,
      batch: 2,
      queries: 70,
      dim: 64,
      bias: { type: "float32", shape: [2, 1, 1, 1, 70], blocks: 40 },
    }),
    attentionCase({ type, queries: 70, dim: 64, bias: { type: "float32", shape: [1, 1, 2, 70, 1] } }),
    attentionCase({ type, batch: 2, queries: 70, dim: 64, keep: { shape: [2, 1, 1, 70, 70], fill: low } }),
    attentionCase({ type, batch: 2, queries: 70, dim: 64, keep: { shape: [1, 1, 2, 1, 70], fill: -1e9 } }),
    // Rows that see nothing but the fill are averages.
    ...[-3.4e38, -1e9, -1e4].map((fill) =>
      attentionCase({ type, queries: 70, dim: 64, keep: { shape: [1, 1, 1, 70, 1], fill } }),
    ),
    attentionCase({
      type,
      queries: 70,
      dim: 64,
      keep: { shape: [1, 1, 1, 70, 1], fill: low },
      emptyRows: "zero",
    }),
    attentionCase({
      type,
      queries: 70,
      dim: 64,
      bias: { type: "float32", shape: [1, 1, 1, 70, 70] },
      keep: { shape: [1, 1, 1, 70, 70], fill: low },
      right: 0,
      softcap: 3,
    }),
    attentionCase({ type, queries: 70, dim: 64, softcap: 2, scale: 0.5 }),
    attentionCase({ type, queries: 70, dim: 64, scale: -0.2 }),
  ]),
  attentionCase({
    type: "float16",
    queries: 20,
    dim: 64,
    bias: { type: "float16", shape: [1, 1, 1, 20, 1], blocks: 50 },
    isSoftInfinity: true,
  }),
  // Few queries and heads: warps with keys of their own, some of which have none.
  ...halves.flatMap((type) =>
    [24, 32, 50, 64].flatMap((dim) => [
      attentionCase({ type, queries: 197, dim }),
      attentionCase({ type, queries: 17, keys: 130, dim }),
      attentionCase({ type, queries: 33, keys: 700, dim, right: 0, position: 600 }),
      attentionCase({ type, queries: 150, dim, right: 0 }),
      attentionCase({
        ...{ type, queries: 100, keys: 333, dim },
        bias: { type: "float32", shape: [1, 1, 1, 100, 333] },
      }),
      attentionCase({
        ...{ type, queries: 100, keys: 333, dim, emptyRows: "zero" },
        keep: { shape: [1, 1, 1, 100, 333], fill: low },
      }),
    ]),
  ),
  // Few queries, many keys: splits.
  attentionCase({ type: "float16", queries: 5, keys: 4000, dim: 64 }),
  attentionCase({ type: "bfloat16", queries: 1, keys: 5001, dim: 128, right: 0, position: 5000 }),
  attentionCase({
    type: "float16",
    queries: 3,
    keys: 2500,
    dim: 33,
    bias: { type: "float32", shape: [1, 1, 1, 1, 2500] },
  }),
  attentionCase({
    type: "float16",
    queries: 40,
    keys: 3000,
    dim: 64,
    right: 0,
    position: -10,
    emptyRows: "zero",
  }),
  budgetCase(1, 512, 8, false),
  budgetCase(2, 512, 8, false),
  budgetCase(1, 512, 8, true),
  budgetCase(2, 512, 8, true),
  budgetCase(1, 128, 4, false),
  budgetCase(1, 256, 16, false),
  budgetCase(4, 512, 8, false),
  scoresCase(
    {
      type: "float32",
      queries: 9,
      keys: 40,
      dim: 24,
      bias: { type: "float32", shape: [1, 1, 1, 9, 40] },
      right: 0,
      position: 5,
    },
    "masked",
  ),
  scoresCase({ type: "float16", queries: 9, keys: 40, dim: 24, group: 2, right: 0, position: 5 }, "weights"),
  scoresCase(
    { type: "float32", queries: 9, keys: 40, dim: 24, right: 0, position: -3, emptyRows: "zero" },
    "weights",
  ),
  scoresCase({ type: "float32", queries: 9, keys: 40, dim: 24 }, "products"),
  scoresCase({ type: "float32", queries: 9, keys: 40, dim: 24, softcap: 2 }, "capped"),
];
