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

const tileShapes: readonly (readonly [m: number, n: number])[] = [
  [64, 16],
  [64, 32],
  [64, 64],
  [128, 32],
  [64, 128],
  [128, 64],
  [128, 128],
  [64, 256],
  [256, 64],
  [128, 256],
  [256, 128],
];

const splits = [1, 2, 4, 8, 16, 32] as const;

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
  let best = { microseconds: Number.POSITIVE_INFINITY, tileM: 0, tileN: 0, split: 1, waves: 1 };
  for (const [tileM, tileN] of tileShapes) {
    const tiles = Math.ceil(m / tileM) * Math.ceil(n / tileN) * batch;
    const perStage = Math.max(multiplyPerCell * tileM * tileN, feedPerLine * (tileM + tileN)) * slowdown;
    for (const split of splits) {
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

/** For the residual: how well fixed tile shapes fit, whichever the library takes. */
export function tileFeatures({ batch, m, n }: TiledProduct, sms: number): number[] {
  const features: number[] = [];
  for (const [tileM, tileN] of [
    [64, 64],
    [128, 64],
    [128, 128],
    [128, 256],
    [64, 256],
  ] as const) {
    const tiles = Math.ceil(m / tileM) * Math.ceil(n / tileN) * batch;
    const waves = tiles / sms;
    features.push(Math.log2(waves), Math.ceil(waves) / waves, (m * n * batch) / (tiles * tileM * tileN));
  }
  return features;
}
