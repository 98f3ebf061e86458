/** @file Tiles of attention on Tensor Cores: the entries of attention.cu and attention-hopper.cu. */

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
  /** Of mma.sync's rate (of wgmma's, on Hopper's own tiles), what full H200s and H100s were seen to reach (bench/results/gpu-attention.json). */
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
  /** Of attention-hopper.cu: warpgroups that multiply, and blocks that a multiprocessor holds. */
  readonly hopper?: HopperForm;
}

export interface HopperForm {
  readonly groups: 1 | 2 | 3;
  /** Of keys, and of values. */
  readonly stages: number;
  /** That a multiprocessor holds. */
  readonly blocks: number;
  /** Two blocks of a cluster have tiles one below the other, and fetch keys and values for each other. */
  readonly isPair: boolean;
}

const syncTiles: readonly TensorTile[] = [...rows, apart(32, 0.29), apart(64, 0.426)].map((row) => {
  const queries = (row.isApart ? 1 : tensorWarps) * 16 * row.rowTiles;
  // Queries, and two stages of keys and values; rows are 16 bytes longer than the head, against bank conflicts.
  const sharedBytes = (queries + 4 * row.keys) * (row.headDim + 8) * 2;
  return { ...row, queries, threads: tensorWarps * 32, sharedBytes };
});

/** Head size, groups, keys, stages, blocks of a multiprocessor, efficiency. */
type HopperRow = readonly [number, 1 | 2 | 3, 64 | 128, number, number, number];

const hopperRows: readonly HopperRow[] = [
  [48, 1, 64, 2, 3, 1],
  [64, 1, 64, 2, 3, 1],
  [80, 1, 64, 2, 2, 1],
  [96, 1, 64, 2, 2, 1],
  [128, 1, 64, 3, 2, 1],
  [48, 2, 128, 2, 1, 0.47],
  [64, 2, 128, 2, 1, 0.566],
  [80, 2, 128, 2, 1, 0.53],
  [96, 2, 128, 2, 1, 0.69],
  [128, 2, 128, 2, 1, 0.77],
  [48, 3, 128, 2, 1, 0.52],
  [64, 3, 128, 2, 1, 0.64],
];

const pairRows: readonly HopperRow[] = [
  [80, 2, 128, 2, 1, 0.58],
  [128, 2, 128, 2, 1, 0.8],
];

/** A row of a box of the copy engine: 64 halves. */
const panelBytes = 128;

function hopperTile(
  [headDim, groups, keys, stages, blocks, efficiency]: HopperRow,
  isPair: boolean,
): TensorTile {
  const panels = Math.ceil(headDim / 64);
  const queries = 64 * groups;
  const queryStages = groups === 1 ? 1 : 2;
  // Rings of queries, of keys and of values, and a pair of barriers for each stage of each.
  const rows = queryStages * queries + 2 * stages * keys;
  const sharedBytes = panels * panelBytes * rows + 16 * (queryStages + 2 * stages);
  return {
    ...{ headDim, rowTiles: 1, keys, isMasked: false, isPlain: true, efficiency },
    ...{ queries, sharedBytes, threads: 128 * groups + (groups === 1 ? 32 : 128) },
    hopper: { groups, stages, blocks, isPair },
  };
}

export const tensorTiles: readonly TensorTile[] = [
  ...syncTiles,
  ...hopperRows.map((row) => hopperTile(row, false)),
  ...pairRows.map((row) => hopperTile(row, true)),
];

export interface AttentionSize {
  /** Batch times heads. */
  readonly blocks: number;
  readonly queries: number;
  readonly keys: number;
  /** The larger one of the heads' sizes. */
  readonly dim: number;
  readonly isMasked: boolean;
}
