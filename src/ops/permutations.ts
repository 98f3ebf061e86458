/** @file Transposes that only move the channel axis. */

/** Where an image's channels are: last, or the second axis. */
export type ChannelPlace = "last" | "second";

export const otherPlace = { last: "second", second: "last" } as const;

/** Whether a Transpose moves the channels there, and nothing else. */
export const movesTo: Readonly<Record<ChannelPlace, (perm: readonly number[]) => boolean>> = {
  last: movesToLast,
  second: movesToSecond,
};

/** The order of so many axes that does. */
export const orderTo: Readonly<Record<ChannelPlace, (rank: number) => number[]>> = {
  last: toLast,
  second: toSecond,
};

/** [0, 2, 3, 1], and [0, 2, 1] behind a Reshape that folds the spatial axes. */
export function movesToLast(perm: readonly number[]): boolean {
  const rank = perm.length;
  return rank >= 3 && isOrder(perm, toLast(rank));
}

/** [0, 3, 1, 2], and [0, 2, 1] before a Reshape that unfolds them. */
export function movesToSecond(perm: readonly number[]): boolean {
  const rank = perm.length;
  return rank >= 3 && isOrder(perm, toSecond(rank));
}

/** The order that moves the second of so many axes to the end. */
export function toLast(rank: number): number[] {
  return Array.from({ length: rank }, (_, at) => (at === 0 ? 0 : at === rank - 1 ? 1 : at + 1));
}

/** The order that moves the last of so many axes to the second place. */
export function toSecond(rank: number): number[] {
  return Array.from({ length: rank }, (_, at) => (at === 0 ? 0 : at === 1 ? rank - 1 : at - 1));
}

function isOrder(perm: readonly number[], order: readonly number[]): boolean {
  return perm.every((axis, at) => axis === order[at]);
}
