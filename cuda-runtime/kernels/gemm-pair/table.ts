/** @file The kernels for pairs of products, one row each: what gemm-pair.cu instantiates. */
import type { HalfStorage } from "../../ir/storage.ts";

export interface PairRow {
  readonly tile: string;
  /** Of four warps, which have the tile's 64 rows and a chunk of columns at a time. */
  readonly groups: number;
  readonly chunk: number;
  /** Blocks to a multiprocessor that registers leave room for. */
  readonly blocks: number;
}

function pair(groups: number, chunk: number, blocks: number): PairRow {
  return { tile: `p${groups}x${chunk}`, groups, chunk, blocks };
}

export const pairRows: readonly PairRow[] = [pair(4, 64, 1), pair(4, 32, 1), pair(2, 32, 3)];

/** Blocks of a cluster. */
export const pairTeams = [2, 4, 8] as const;

export const pairTileRows = 64;

export function pairThreads({ groups }: PairRow): number {
  return groups * 128 + 32;
}

export function pairEntry({ tile }: PairRow, type: HalfStorage): string {
  return `${tile}_${type === "bfloat16" ? "bf16" : "f16"}`;
}

const cTypes = { float16: "__half", bfloat16: "__nv_bfloat16" } as const;

/** A macro's invocation each. */
export function pairEntries(): readonly string[] {
  return pairRows.flatMap((row) =>
    (["float16", "bfloat16"] as const).map(
      (type) => `PAIR(${pairEntry(row, type)}, ${cTypes[type]}, ${row.groups}, ${row.chunk}, ${row.blocks})`,
    ),
  );
}
