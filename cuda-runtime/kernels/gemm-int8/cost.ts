/**
 * @file The kernels for products of codes, one row each, and what a product takes. Not measured yet: the rate of the data
 * sheet, twice that of halves, as far as the instruction gets there with halves.
 */
import type { PlanTarget } from "../../ir/step.ts";
import { bytesOfType, type StorageType } from "../../ir/storage.ts";

export interface ProductSize {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly batch: number;
}

export interface Tile {
  readonly kind: "mma" | "hopper";
  readonly m: number;
  readonly n: number;
  readonly threads: number;
  readonly sharedBytes: number;
}

function mma(m: number, n: number, stages: number, threads: number): Tile {
  return { kind: "mma", m, n, threads, sharedBytes: stages * (m + n) * 64 };
}

function hopper(m: number, n: number, stages: number): Tile {
  // Two barriers a stage behind the ring.
  return { kind: "hopper", m, n, threads: 384, sharedBytes: stages * ((m + n) * 128 + 16) };
}

export const codeTiles: readonly Tile[] = [
  mma(128, 128, 3, 256),
  mma(64, 64, 4, 128),
  hopper(256, 128, 4),
  hopper(128, 256, 4),
  hopper(128, 128, 6),
  hopper(128, 64, 8),
];

export interface TileTarget extends PlanTarget {
  /** Whether TMA takes the operands, and the product is one that kernels of Hopper do. */
  readonly mayFetch: boolean;
}

export function cheapestTile(size: ProductSize, type: StorageType, target: TileTarget): Tile {
  const taken = codeTiles.filter(({ kind }) => kind === "mma" || (target.mayFetch && target.features.wgmma));
  const [first, ...rest] = taken.map((tile) => ({
    tile,
    time: codeProductMicroseconds(size, tile, type, target),
  }));
  if (first === undefined) throw new Error("tc-lint bug: no kernel for products of codes");
  return rest.reduce((best, each) => (each.time < best.time ? each : best), first).tile;
}

/** Multiply-adds of bytes for one of halves. */
const rateOfHalves = 2;
/** Clocks until a block's first tile is there, and to store its last, as of the kernels of halves. */
const startAndEnd = { mma: 2500, hopper: 3000 } as const;

export function codeProductMicroseconds(
  { m, n, k, batch }: ProductSize,
  tile: Pick<Tile, "kind" | "m" | "n">,
  type: StorageType,
  target: PlanTarget,
): number {
  const { flopPerClock, multiprocessors, clocksPerMicrosecond, bandwidth, bytesPerClock } = target;
  const blocks = Math.ceil(m / tile.m) * Math.ceil(n / tile.n) * batch;
  const waves = Math.ceil(blocks / multiprocessors);
  const rate = rateOfHalves * (tile.kind === "hopper" ? flopPerClock.wgmma : flopPerClock.half);
  const depth = Math.ceil(k / 128) * 128;
  const multiply = (2 * tile.m * tile.n * depth) / rate;
  const fetch = ((tile.m + tile.n) * depth) / bytesPerClock.l2;
  const clocks = waves * Math.max(multiply, fetch) + startAndEnd[tile.kind];
  const bytes = batch * (m * k + n * k + m * n * bytesOfType(type));
  return target.launchMicroseconds + Math.max(clocks / clocksPerMicrosecond, bytes / bandwidth.dram);
}
