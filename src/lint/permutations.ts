/** @file Transposes that only move the channel axis. */

/** [0, 2, 3, 1], and [0, 2, 1] behind a Reshape that folds the spatial axes. */
export function movesToLast(perm: readonly number[]): boolean {
  const rank = perm.length;
  return rank >= 3 && perm.every((axis, at) => axis === (at === 0 ? 0 : at === rank - 1 ? 1 : at + 1));
}

/** [0, 3, 1, 2], and [0, 2, 1] before a Reshape that unfolds them. */
export function movesToSecond(perm: readonly number[]): boolean {
  const rank = perm.length;
  return rank >= 3 && perm.every((axis, at) => axis === (at === 0 ? 0 : at === 1 ? rank - 1 : at - 1));
}
