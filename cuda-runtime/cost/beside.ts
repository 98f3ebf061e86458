/** @file What kinds of work take that go on beside each other. */

/** From their sum, of an exponent of 1, to the longest alone, of a large one. */
export function beside(times: readonly number[], exponent: number): number {
  return times.reduce((sum, time) => sum + time ** exponent, 0) ** (1 / exponent);
}
