/**
 * @file A tiled matrix product: output tiles in waves over the SMs, a K loop in each, split-K where tiles are few.
 *
 * The library picks the kernel that is fastest; so does this, among a handful of tile shapes.
 */
import type { Rates } from "./rates.ts";

export interface TiledProduct {
  readonly batch: number;
  readonly m: number;
  readonly n: number;
  readonly k: number;
  /** Bytes of an operand element. */
  readonly width: number;
}

export interface TileCoefficients {
  /** Of the datasheet's rate, what a large product reaches. */
  readonly peakShare: number;
  /** Of an SM's share of L2 bandwidth, what tiles get, clusters sharing loads included. */
  readonly feedShare: number;
  /** Microseconds to start a tile, fill its pipeline and write its result, apart from the K loop. */
  readonly tileOverhead: number;
  /** Microseconds a further split along K costs to add up. */
  readonly splitOverhead: number;
}

export interface TilePlan {
  readonly microseconds: number;
  readonly tileM: number;
  readonly tileN: number;
  readonly split: number;
  readonly waves: number;
}

interface TileShape {
  readonly m: number;
  readonly n: number;
}

const tileShapes: readonly TileShape[] = [
  { m: 64, n: 16 },
  { m: 64, n: 32 },
  { m: 64, n: 64 },
  { m: 128, n: 32 },
  { m: 64, n: 128 },
  { m: 128, n: 64 },
  { m: 128, n: 128 },
  { m: 64, n: 256 },
  { m: 256, n: 64 },
  { m: 128, n: 256 },
  { m: 256, n: 128 },
];
const noTile: TileShape = { m: 1, n: 1 };

/** Along K, in powers of two. */
const mostSplits = 32;

/** K elements a pipeline stage takes. */
const stageBytes = 128;

/** `slowdown` multiplies the K loop: narrower loads than 16 bytes. */
export function planTiles(
  { batch, m, n, k, width }: TiledProduct,
  machine: Rates,
  c: TileCoefficients,
  slowdown: number,
): TilePlan {
  const stage = stageBytes / width;
  const allStages = Math.ceil(k / stage);
  const multiplyPerCell = (2 * stage * machine.sms) / (machine.flops * c.peakShare);
  const feedPerLine = (stageBytes * machine.sms) / (machine.l2 * c.feedShare);
  let best: TilePlan = { microseconds: Number.POSITIVE_INFINITY, tileM: 0, tileN: 0, split: 1, waves: 1 };
  // By index: of all that a lint does with a product this is done most often.
  for (let shape = 0; shape < tileShapes.length; shape++) {
    const { m: tileM, n: tileN } = tileShapes[shape] ?? noTile;
    const tiles = Math.ceil(m / tileM) * Math.ceil(n / tileN) * batch;
    const perStage = Math.max(multiplyPerCell * tileM * tileN, feedPerLine * (tileM + tileN)) * slowdown;
    for (let split = 1; split <= mostSplits; split *= 2) {
      const stages = Math.ceil(allStages / split);
      if (split > 1 && stages < 4) break;
      const waves = Math.ceil((tiles * split) / machine.sms);
      const adding = split > 1 ? c.splitOverhead * (1 + Math.log2(split)) : 0;
      const microseconds = waves * (stages * perStage + c.tileOverhead) + adding;
      if (microseconds < best.microseconds) best = { microseconds, tileM, tileN, split, waves };
    }
  }
  return best;
}

/** In this order: a fit knows them by their place. */
const shapesTold: readonly TileShape[] = [
  { m: 64, n: 64 },
  { m: 128, n: 64 },
  { m: 128, n: 128 },
  { m: 128, n: 256 },
  { m: 64, n: 256 },
];

/** For the residual: how well fixed tile shapes fit, whichever the library takes. */
export function tileFeatures({ batch, m, n }: TiledProduct, sms: number): number[] {
  const features: number[] = [];
  for (let shape = 0; shape < shapesTold.length; shape++) {
    const { m: tileM, n: tileN } = shapesTold[shape] ?? noTile;
    const tiles = Math.ceil(m / tileM) * Math.ceil(n / tileN) * batch;
    const waves = tiles / sms;
    features.push(Math.log2(waves), Math.ceil(waves) / waves, (m * n * batch) / (tiles * tileM * tileN));
  }
  return features;
}
