/** @file Times as timers take them. */

/** A timer beyond this fires at once: 24 days. */
const mostMilliseconds = 2 ** 31 - 1;

/** For `setTimeout`. */
export function timerMilliseconds(seconds: number): number {
  return Math.min(seconds * 1000, mostMilliseconds);
}
