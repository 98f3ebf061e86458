/** @file Caches of keys and values on the GPU against loops. */
import type { FloatStorage } from "../../../cuda-runtime/ir/storage.ts";
import type { View } from "../../../cuda-runtime/ir/view.ts";
import { emitCacheAppend } from "../../../cuda-runtime/kernels/cache/cache.ts";
import type { Harness, KernelCase } from "../../../cuda-runtime/session/harness.ts";

interface CacheCase {
  readonly type: FloatStorage;
  readonly length: number;
  readonly past: number;
  readonly present: number;
  /** Valid keys of each sample, with the new ones. */
  readonly valid: readonly number[];
  readonly dim: number;
  /** Of a head, that are turned; 0 for none. */
  readonly pairs: number;
  readonly isPrompt?: boolean;
  readonly isInterleaved?: boolean;
  /** Present is the past's own memory. */
  readonly isShared?: boolean;
  readonly hasPositions?: boolean;
}

const [heads, kvHeads, angles] = [6, 2, 64];

function cacheCase(each: CacheCase): KernelCase {
  const { type, length, past, present, valid, dim, pairs, ...flags } = each;
  const named = Object.keys(flags).join(" ");
  return {
    name: `${type} ${length} behind ${past} in ${present}, ${valid.join(" and ")} valid, ${dim}/${pairs} ${named}`.trim(),
    run: (harness) => check(harness, each),
  };
}

function check(harness: Harness, each: CacheCase): void {
  const { type, length, past, present, valid, dim, pairs } = each;
  const { isPrompt = false, isInterleaved = false, isShared = false, hasPositions = false } = each;
  const batch = valid.length;
  // As projections leave them: [batch, length, heads, dim].
  const operand = (count: number, seed: number): View => {
    const flat = harness.tensor(type, [batch, length, count, dim], { seed });
    const [outer = 0, row = 0, head = 0, unit = 1] = flat.strides;
    return { ...flat, shape: [batch, count, length, dim], strides: [outer, head, row, unit] };
  };
  const [q, k, v] = [operand(heads, 1), operand(kvHeads, 2), operand(kvHeads, 3)];
  const cache = (seed: number) => harness.tensor(type, [batch, kvHeads, past, dim], { seed });
  const before = past === 0 ? undefined : { k: cache(4), v: cache(5) };
  const fresh = () => harness.output(type, [batch, kvHeads, present, dim]);
  const after = isShared && before !== undefined ? before : { k: fresh(), v: fresh() };
  const positions = hasPositions
    ? harness.tensor("int64", [batch, length], {
        values: valid.flatMap((_, b) => Array.from({ length }, (__, s) => 3 + b + 2 * s)),
      })
    : undefined;
  const table = (seed: number) => harness.tensor(type, [angles, pairs], { seed });
  const turning = pairs === 0 ? undefined : { cos: table(6), sin: table(7), positions, isInterleaved };
  const lengths = harness.tensor("int32", [batch], { values: valid.map((count) => count - 1) });
  const held = [q, k, v, before?.k, before?.v, turning?.cos, turning?.sin, positions].map(
    (view) => view && harness.values(view),
  );
  const [qs, ks, vs, pastK, pastV, cos, sin, places] = held;
  const result = emitCacheAppend(harness.emitter, {
    q,
    k,
    v,
    lengths,
    past: before,
    present: after,
    isPrompt,
    turning,
  });
  harness.execute();
  const turned = (from: ArrayLike<number> | undefined, at: number, b: number, s: number, own: number) => {
    const row = Array.from({ length: dim }, (_, i) => from?.[at + i] ?? Number.NaN);
    const position = places?.[b * length + s] ?? (isPrompt || own < (valid[b] ?? 0) ? own : 1);
    for (let pair = 0; pair < pairs; pair++) {
      const [i, j] = isInterleaved ? [2 * pair, 2 * pair + 1] : [pair, pair + pairs];
      const [x, y] = [row[i] ?? 0, row[j] ?? 0];
      const [c, z] = [cos?.[position * pairs + pair] ?? 0, sin?.[position * pairs + pair] ?? 0];
      [row[i], row[j]] = [x * c - y * z, x * z + y * c];
    }
    return row;
  };
  const expectedOf = (
    values: ArrayLike<number> | undefined,
    old: ArrayLike<number> | undefined,
    turns: boolean,
  ) =>
    valid.flatMap((count, b) => {
      const start = isPrompt ? 0 : count - length;
      return Array.from({ length: kvHeads }, (_, h) =>
        Array.from({ length: present }, (__, row) => {
          const s = row - start;
          const at = ((b * kvHeads + h) * length + s) * dim;
          if (s >= 0 && s < length)
            return turns
              ? turned(values, at, b, s, row)
              : Array.from({ length: dim }, (___, i) => values?.[at + i] ?? 0);
          const from = ((b * kvHeads + h) * past + row) * dim;
          const isKept = row < start || isShared;
          return Array.from({ length: dim }, (___, i) => (isKept ? (old?.[from + i] ?? 0) : 0));
        }).flat(),
      ).flat();
    });
  const tolerance = { relative: type === "bfloat16" ? 8e-3 : 1e-3, absolute: 1e-3 };
  harness.expectClose(after.k, expectedOf(ks, pastK, true), tolerance, "keys");
  harness.expectClose(after.v, expectedOf(vs, pastV, false), tolerance, "values");
  harness.expectClose(result.counts, valid, { relative: 0, absolute: 0 }, "counts");
  const rotated = valid.flatMap((count, b) =>
    Array.from({ length: heads * length }, (_, at) => {
      const own = (isPrompt ? 0 : count - length) + (at % length);
      return turned(qs, (b * heads * length + at) * dim, b, at % length, own);
    }).flat(),
  );
  harness.expectClose(result.q, rotated, tolerance, "queries");
}

const each: readonly Omit<CacheCase, "type">[] = [
  { length: 1, past: 24, present: 24, valid: [9], dim: 128, pairs: 64, isShared: true },
  { length: 1, past: 24, present: 24, valid: [9, 24], dim: 64, pairs: 32, isShared: true },
  { length: 1, past: 7, present: 8, valid: [8], dim: 64, pairs: 32 },
  { length: 1, past: 24, present: 24, valid: [9, 17], dim: 40, pairs: 12, isInterleaved: true },
  { length: 6, past: 0, present: 6, valid: [6], dim: 128, pairs: 64, isPrompt: true },
  { length: 6, past: 24, present: 24, valid: [6, 4], dim: 80, pairs: 40, isPrompt: true },
  { length: 3, past: 5, present: 8, valid: [8], dim: 33, pairs: 16, hasPositions: true },
  { length: 2, past: 12, present: 12, valid: [5, 12], dim: 64, pairs: 0 },
];

export const cases: readonly KernelCase[] = (["float16", "float32", "bfloat16"] as const).flatMap((type) =>
  each.map((rest) => cacheCase({ type, ...rest })),
);
