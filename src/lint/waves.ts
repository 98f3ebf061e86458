/** @file Tiles of a product over the multiprocessors: how many waves, and how full the last one is. */
import { type ProductWork, volume } from "../ops/work.ts";

export { volume };

/** Rows × columns of the result that one block computes, as cuBLAS and cuDNN have them for Tensor Cores of 8.0 and later. */
interface Tile {
  readonly rows: number;
  readonly columns: number;
  /** Of the largest tile's speed: a smaller tile reads its operands more often. */
  readonly rate: number;
}

/**
 * The large tiles alone: with them the fill of the last wave tells measured products apart best; products that would
 * fall back on smaller tiles pay about what the partial wave costs.
 */
const tiles: readonly Tile[] = [
  { rows: 128, columns: 256, rate: 1 },
  { rows: 256, columns: 128, rate: 1 },
  { rows: 128, columns: 128, rate: 0.92 },
];

/** A result as a grid: `copies` matrices of rows × columns. */
export interface Grid {
  readonly rows: number;
  readonly columns: number;
  readonly copies: number;
}

export interface Waves {
  readonly tile: string;
  readonly tiles: number;
  /** Waves that occupy every multiprocessor. */
  readonly full: number;
  /** Of the multiprocessors busy in the wave after those, 0 to 1; 0 where there is none. */
  readonly lastFill: number;
  /** The most rows, and the most columns, that do without a partial wave. */
  readonly fittingRows: number;
  readonly fittingColumns: number;
}

/** The result of a plain product as a grid; undefined for work that is tiled otherwise. */
export function gridOf(work: ProductWork<number>): Grid | undefined {
  if (work.kind === "gemm") {
    const { batch, m, n, sharedB } = work;
    return sharedB ? { rows: batch * m, columns: n, copies: 1 } : { rows: m, columns: n, copies: batch };
  }
  if (work.kind !== "conv" || work.groups !== 1 || work.transposed) return undefined;
  return { rows: work.batch * volume(work.output), columns: work.filters, copies: 1 };
}

/** For the tile that finishes first: a library picks by the same reasoning. */
export function wavesOf(grid: Grid, multiprocessors: number): Waves {
  const timed = tiles.map((tile) => ({ tile, time: timeOf(grid, tile, multiprocessors) }));
  const { tile } = timed.reduce((a, b) => (b.time < a.time ? b : a));
  const count = countOf(grid, tile);
  const full = Math.floor(count / multiprocessors);
  const room = (full * multiprocessors) / grid.copies;
  const columns = Math.ceil(grid.columns / tile.columns);
  const rows = Math.ceil(grid.rows / tile.rows);
  return {
    tile: `${tile.rows}×${tile.columns}`,
    tiles: count,
    full,
    lastFill: count / multiprocessors - full,
    fittingRows: Math.floor(room / columns) * tile.rows,
    fittingColumns: Math.floor(room / rows) * tile.columns,
  };
}

function timeOf(grid: Grid, tile: Tile, multiprocessors: number): number {
  const waves = Math.ceil(countOf(grid, tile) / multiprocessors);
  return (waves * tile.rows * tile.columns) / tile.rate;
}

function countOf({ rows, columns, copies }: Grid, tile: Tile): number {
  return Math.ceil(rows / tile.rows) * Math.ceil(columns / tile.columns) * copies;
}
