/** @file `--shard 2/4`: which of the models of a run one of several machines lints. */

import { InputError } from "../ir/errors.ts";
import { minOf } from "../ir/lists.ts";

export interface Shard {
  /** From 1. */
  readonly index: number;
  readonly count: number;
}

export const wholeRun: Shard = { index: 1, count: 1 };

/** CI has a machine a shard. */
const mostShards = 1024;

/** Throws InputError `usage`. */
export function parseShard(text: string): Shard {
  const [, index, count] = /^(\d{1,4})\/(\d{1,4})$/.exec(text) ?? [];
  const shard = { index: Number(index), count: Number(count) };
  const isThere = shard.index >= 1 && shard.index <= shard.count && shard.count <= mostShards;
  if (isThere) return shard;
  throw new InputError("usage", `--shard: found "${text}", expected I/N such as 2/4: from 1/N to N/N`);
}

export interface SizedModel {
  readonly path: string;
  readonly bytes: number;
}

/**
 * The paths that are a shard's. The largest model goes to the shard with the least bytes so far, then the next one: by sizes and names
 * alone, so that every machine finds the same shards, in whatever order it finds the models.
 */
export function shardOf(models: readonly SizedModel[], { index, count }: Shard): ReadonlySet<string> {
  const loads = Array.from({ length: count }, () => 0);
  const own = new Set<string>();
  const byName = (a: SizedModel, b: SizedModel) => (a.path < b.path ? -1 : Number(a.path > b.path));
  for (const { path, bytes } of [...models].sort((a, b) => b.bytes - a.bytes || byName(a, b))) {
    const least = loads.indexOf(minOf(loads));
    // An empty file takes time too, and would all go to one.
    loads[least] = (loads[least] ?? 0) + bytes + costBytes;
    if (least === index - 1) own.add(path);
  }
  return own;
}

/** What a model costs beside its bytes, in bytes of a graph. */
const costBytes = 65_536;
