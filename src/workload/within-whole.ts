/** @file Parts of a saving, each predicted by itself, beside the whole that they are parts of. */

/** What is left of each part where all add up to no more than the whole; 1 where they do anyway, or there is none. */
export function shareWithin(parts: readonly number[], whole: number | undefined): number {
  const sum = parts.reduce((total, part) => total + part, 0);
  return whole === undefined || sum <= whole ? 1 : Math.max(0, whole) / sum;
}
