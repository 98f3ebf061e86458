/** @file Times as timers take them. */

/** A timer beyond this fires at once: 24 days. */
const mostMilliseconds = 2 ** 31 - 1;

/** For `setTimeout`. */
export function timerMilliseconds(seconds: number): number {
  return Math.min(seconds * 1000, mostMilliseconds);
}

/** Milliseconds since some moment, which no clock that is set changes. Node loads a dozen modules for the first `performance.now()`: 2 of a lint's 200 ms. */
export function steadyMilliseconds(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return 1000 * seconds + nanoseconds / 1e6;
}
