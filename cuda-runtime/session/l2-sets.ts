/** @file Copies of operands that launches rotate over, so that none of them comes from the L2. */

/** Of an L2's bytes, so that nothing of a set is left when its turn comes again. */
const flushFactor = 2;

/** How many sets of `bytes` bytes (above 0) leave an L2 cache of so many; at most `most`. */
export function setsBeyondL2(bytes: number, l2Bytes: number, most: number): number {
  return Math.max(1, Math.min(most, Math.ceil((flushFactor * l2Bytes) / bytes)));
}
