/** @file How much of a GPU clusters of blocks find room on. */

/**
 * Blocks of a cluster lie together, and what a group of multiprocessors has over stays empty. Of an H200's 132, clusters of four did not find 128: 32 of
 * 32x1000x2048 took two waves (8.4 us, 5.4 where 16 do it), and 64 of a convolution, two blocks a multiprocessor, too (14 us, 7 predicted). Sixteen of eight did
 * not, by tiles of 128 x 96 (28.1 us of 24 predicted; bench/measurements/h200-conv-teams.jsonl): 120 are taken to be found. Of sixteen nobody measured any.
 */
const shares: readonly (readonly [blocks: number, share: number])[] = [
  [16, 0.8],
  [8, 0.91],
  [4, 0.96],
];

/** Share of the multiprocessors that clusters of so many blocks find at once. */
export function clusterShare(blocks: number): number {
  return shares.find(([least]) => blocks >= least)?.[1] ?? 1;
}
