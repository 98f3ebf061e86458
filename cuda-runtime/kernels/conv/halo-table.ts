/** @file The kernels of conv-halo.cu: tiles of 8 by 8 outputs, whose patches of the image lie in shared memory for all taps. */

/** Outputs of a patch along an axis. */
export const patchSide = 8;
/** Of the channels that are multiplied, and of those to come. */
const rounds = 2;

export interface Halo {
  /** Of a tile. */
  readonly patches: 1 | 2 | 4;
  /** Of a step. */
  readonly channels: 64 | 32;
  /** That a multiprocessor has registers for. */
  readonly blocks: 1 | 2;
  readonly filters: 32 | 64 | 128;
  /** Taps whose weights are under way. */
  readonly stages: number;
}

export const halos: readonly Halo[] = [
  { patches: 1, channels: 64, filters: 64, stages: 9, blocks: 2 },
  { patches: 4, channels: 64, filters: 128, stages: 6, blocks: 1 },
  { patches: 4, channels: 64, filters: 64, stages: 10, blocks: 1 },
  { patches: 2, channels: 64, filters: 128, stages: 8, blocks: 1 },
  { patches: 2, channels: 64, filters: 64, stages: 4, blocks: 2 },
  { patches: 4, channels: 32, filters: 64, stages: 10, blocks: 1 },
  { patches: 4, channels: 32, filters: 32, stages: 8, blocks: 2 },
];

/** In shared memory, from one patch of so many positions to the next. */
export function patchBytesOf(positions: number, channels: number): number {
  return Math.ceil((positions * channels * 2) / 1024) * 1024;
}

/** Of four warps each: those that multiply. A single patch is multiplied by one. */
export function groupsOf({ patches }: Pick<Halo, "patches">): 1 | 2 {
  return patches > 1 ? 2 : 1;
}

/** Weights of taps, barriers, what warps store from, and patches (halo-product.cuh). */
export function haloSharedBytes({ patches, channels, filters, stages }: Halo, positions: number): number {
  const ends = 4 * groupsOf({ patches }) * 16 * (Math.min(64, filters) * 2 + 16);
  const fixed = stages * filters * channels * 2 + 256 + ends;
  return Math.ceil(fixed / 1024) * 1024 + rounds * patches * patchBytesOf(positions, channels);
}
