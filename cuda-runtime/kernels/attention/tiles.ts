/** @file Tiles of attention on Tensor Cores, and which of them suits a size. */
import type { PlanTarget } from "../../ir/step.ts";

interface TileRow {
  /** Heads up to this size. */
  readonly headDim: number;
  /** Tiles of 16 queries that a warp holds. */
  readonly rowTiles: 1 | 2;
  /** Keys of a step. */
  readonly keys: number;
  /** Whether there is an entry for masks, caps and scales below zero, beside the plain one. */
  readonly isMasked: boolean;
  readonly isPlain: boolean;
  /** Of mma.sync's rate, what full H200s were seen to reach (bench/results/gpu-attention.json). */
  readonly efficiency: number;
}

/** The entries of attention.cu. Two row tiles read keys and values from shared memory half as often. */
const rows: readonly TileRow[] = [
  { headDim: 16, rowTiles: 1, keys: 64, isPlain: true, isMasked: false, efficiency: 0.153 },
  { headDim: 32, rowTiles: 1, keys: 64, isPlain: true, isMasked: true, efficiency: 0.29 },
  { headDim: 48, rowTiles: 1, keys: 64, isPlain: true, isMasked: false, efficiency: 0.358 },
  { headDim: 64, rowTiles: 1, keys: 64, isPlain: true, isMasked: true, efficiency: 0.426 },
  { headDim: 80, rowTiles: 1, keys: 64, isPlain: true, isMasked: false, efficiency: 0.443 },
  { headDim: 96, rowTiles: 1, keys: 64, isPlain: true, isMasked: true, efficiency: 0.443 },
  { headDim: 128, rowTiles: 1, keys: 64, isPlain: true, isMasked: true, efficiency: 0.46 },
  { headDim: 160, rowTiles: 1, keys: 32, isPlain: true, isMasked: false, efficiency: 0.392 },
  { headDim: 192, rowTiles: 1, keys: 32, isPlain: true, isMasked: false, efficiency: 0.392 },
  { headDim: 256, rowTiles: 1, keys: 32, isPlain: true, isMasked: true, efficiency: 0.375 },
  { headDim: 48, rowTiles: 2, keys: 64, isPlain: true, isMasked: false, efficiency: 0.443 },
  { headDim: 64, rowTiles: 2, keys: 64, isPlain: true, isMasked: false, efficiency: 0.528 },
  { headDim: 80, rowTiles: 2, keys: 64, isPlain: true, isMasked: false, efficiency: 0.528 },
  { headDim: 96, rowTiles: 2, keys: 64, isPlain: true, isMasked: false, efficiency: 0.545 },
  { headDim: 128, rowTiles: 2, keys: 32, isPlain: true, isMasked: false, efficiency: 0.545 },
];

export const tensorWarps = 4;

export interface TensorTile extends TileRow {
  /** Of one block. */
  readonly queries: number;
  readonly threads: number;
  readonly sharedBytes: number;
}

export const tensorTiles: readonly TensorTile[] = rows.map((row) => {
  const queries = tensorWarps * 16 * row.rowTiles;
  // Queries, and two stages of keys and values; rows are 16 bytes longer than the head, against bank conflicts.
  const sharedBytes = (queries + 4 * row.keys) * (row.headDim + 8) * 2;
  return { ...row, queries, threads: tensorWarps * 32, sharedBytes };
});

export interface AttentionSize {
  /** Batch times heads. */
  readonly blocks: number;
  readonly queries: number;
  readonly keys: number;
  /** The larger one of the heads' sizes. */
  readonly dim: number;
  readonly isMasked: boolean;
}

/** The tile of the least predicted time; undefined where none fits the target. */
export function chooseTile(size: AttentionSize, target: PlanTarget): TensorTile | undefined {
  const fitting = tensorTiles.filter(
    (tile) =>
      tile.headDim >= size.dim &&
      (size.isMasked ? tile.isMasked : tile.isPlain) &&
      tile.sharedBytes <= target.sharedBytesPerBlock,
  );
  return fitting
    .map((tile) => ({ tile, cost: costOf(size, tile, target) }))
    .sort((a, b) => a.cost - b.cost)
    .at(0)?.tile;
}

/** Time of the blocks that follow each other on one multiprocessor, tails of tiles included. Arbitrary unit. */
function costOf({ blocks, queries, keys }: AttentionSize, tile: TensorTile, target: PlanTarget): number {
  const count = blocks * Math.ceil(queries / tile.queries);
  const rounds = Math.max(1, count / target.multiprocessors);
  const steps = Math.ceil(keys / tile.keys) * tile.keys;
  return (rounds * tile.queries * steps * tile.headDim) / tile.efficiency;
}

/** Of a split: fewer are done before the sum of splits has been launched. */
const minimumSplitKeys = 512;

/** Splits of the keys, where queries and heads leave more than half of the GPU idle. */
export function chooseSplits(size: AttentionSize, tile: TensorTile, target: PlanTarget): number {
  const blocks = size.blocks * Math.ceil(size.queries / tile.queries);
  const wanted = Math.floor(target.multiprocessors / blocks);
  return Math.max(1, Math.min(wanted, Math.floor(size.keys / minimumSplitKeys)));
}
