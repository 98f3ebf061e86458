/** @file Tiles of attention on Tensor Cores: the entries of attention.cu. */

interface TileRow {
  /** Heads up to this size. */
  readonly headDim: number;
  /** Tiles of 16 queries that a warp holds. */
  readonly rowTiles: 1 | 2;
  /** Keys of a step: of a block's warps together. */
  readonly keys: number;
  /** All warps have the same queries, and each its own keys. */
  readonly isApart?: boolean;
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

const tensorWarps = 4;

/** For few queries and heads: four times as many blocks, and a quarter of the steps one after another. */
const apart = (headDim: number, efficiency: number): TileRow => ({
  ...{
    headDim,
    rowTiles: 1,
    keys: 64 * tensorWarps,
    isApart: true,
    isPlain: true,
    isMasked: true,
    efficiency,
  },
});

export interface TensorTile extends TileRow {
  /** Of one block. */
  readonly queries: number;
  readonly threads: number;
  readonly sharedBytes: number;
}

export const tensorTiles: readonly TensorTile[] = [...rows, apart(32, 0.29), apart(64, 0.426)].map((row) => {
  const queries = (row.isApart ? 1 : tensorWarps) * 16 * row.rowTiles;
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
