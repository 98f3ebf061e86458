/** @file Units of memory. A datasheet's GB of a board is a GiB. */

export const kiB = 2 ** 10;
export const MiB = 2 ** 20;
export const GiB = 2 ** 30;

/** As a board is sold: `80`. */
export function wholeGiB(bytes: number): number {
  return Math.round(bytes / GiB);
}
