/** @file The launch that puts new keys and values into a cache, and turns queries and keys on the way. */
import type { Emitter } from "../../ir/emitter.ts";
import { writeParams } from "../../ir/param-table.ts";
import { storageTypes } from "../../ir/storage.ts";
import { elementCount, type View } from "../../ir/view.ts";
import { cacheStruct } from "./params.table.ts";

/** `kWarps` of cache.cu: a warp takes a head's vector at a position. */
const warps = 8;

export interface Turning {
  /** [positions, pairs], packed, of one float type. */
  readonly cos: View;
  readonly sin: View;
  /** [batch, length], packed int64; undefined: where the new keys go. */
  readonly positions: View | undefined;
  readonly isInterleaved: boolean;
}

export interface CacheRequest {
  /** [batch, heads, length, dim], the last axis contiguous. */
  readonly q: View;
  /** [batch, kvHeads, length, dim], likewise. */
  readonly k: View;
  readonly v: View;
  /** [batch], packed int32: valid keys with the new ones, less one. */
  readonly lengths: View;
  /** [batch, kvHeads, length of the past, dim], packed; undefined for none. */
  readonly past: { readonly k: View; readonly v: View } | undefined;
  /** [batch, kvHeads, length, dim], packed; may be the past's memory. */
  readonly present: { readonly k: View; readonly v: View };
  /** The new keys are the first ones. */
  readonly isPrompt: boolean;
  readonly turning: Turning | undefined;
}

export interface Appended {
  /** Queries, turned where that is asked for. */
  readonly q: View;
  /** [batch] int64: keys that count. */
  readonly counts: View;
}

export function emitCacheAppend(emitter: Emitter, request: CacheRequest): Appended {
  const { q, k, v, lengths, past, present, isPrompt, turning } = request;
  const [batch = 1, heads = 1, length = 1, dim = 1] = q.shape;
  const [kvHeads = 1, presentLength = 1] = present.k.shape.slice(1);
  const counts = emitter.temporary("int64", [batch]);
  const turnedQ = turning && emitter.temporary(q.type, q.shape);
  const isShared = past?.k.buffer === present.k.buffer;
  const [fresh, rows] = [batch * kvHeads * length, batch * kvHeads * presentLength];
  const work =
    (turnedQ === undefined ? 0 : elementCount([batch, heads, length])) + 2 * (fresh + (isShared ? 0 : rows));
  const code = (view: View | undefined) => storageTypes[view?.type ?? "float32"].code;
  const pastReads = past === undefined || isShared ? [] : [past.k, past.v];
  const angles = turning === undefined ? [] : [turning.cos, turning.sin, turning.positions];
  emitter.launch({
    kernel: { kind: "built", family: "cache", entry: "cache_append" },
    grid: [Math.ceil(work / warps), 1, 1],
    block: [32, warps, 1],
    sharedBytes: 0,
    params: writeParams(cacheStruct, {
      q: turnedQ === undefined ? undefined : q,
      k,
      v,
      turnedQ,
      pastK: pastReads[0],
      pastV: pastReads[1],
      presentK: present.k,
      presentV: present.v,
      lengths,
      counts,
      cos: turning?.cos,
      sin: turning?.sin,
      positions: turning?.positions,
      batch,
      heads,
      kvHeads,
      length,
      dim,
      pastLength: past?.k.shape[2] ?? 0,
      presentLength,
      pairs: turning?.cos.shape.at(-1) ?? 0,
      angles: turning?.cos.shape[0] ?? 0,
      ...stridesOf("q", q),
      ...stridesOf("k", k),
      ...stridesOf("v", v),
      isPrompt,
      isInterleaved: turning?.isInterleaved ?? false,
      fillsPresent: !isShared,
      qType: code(q),
      kType: code(k),
      vType: code(v),
      cacheType: code(present.k),
      angleType: code(turning?.cos),
    }),
    reads: [
      ...(turnedQ === undefined ? [] : [q]),
      k,
      v,
      lengths,
      ...pastReads,
      ...angles.filter((view) => view !== undefined),
    ],
    writes: [...(turnedQ === undefined ? [] : [turnedQ]), counts, present.k, present.v],
    movedBytes: movedBytes(request, isShared),
    detail: `${length} behind ${past?.k.shape[2] ?? 0}${isShared ? ", in place" : ""}`,
  });
  return { q: turnedQ ?? q, counts };
}

function stridesOf<Name extends "q" | "k" | "v">(name: Name, { strides }: View) {
  const [batch = 0, head = 0, row = 0] = strides;
  return { [`${name}Batch`]: batch, [`${name}Head`]: head, [`${name}Row`]: row } as Record<
    `${Name}Batch` | `${Name}Head` | `${Name}Row`,
    number
  >;
}

/** Of caches in place only the new rows; of angles only those of the new positions. */
function movedBytes({ q, k, v, present, turning }: CacheRequest, isShared: boolean): number {
  const bytes = (view: View) => elementCount(view.shape) * storageTypes[view.type].bytes;
  const fresh = 2 * (bytes(k) + bytes(v)) + (turning === undefined ? 0 : 2 * bytes(q));
  return fresh + (isShared ? 0 : 2 * (bytes(present.k) + bytes(present.v)));
}
