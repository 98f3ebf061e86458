/** @file Round numbers along an axis. */

/** From 0, at most `count` steps of 1, 2 or 5; those near the end are left out, where a label would be cut. */
export function scaleOf(most: number, count: number): number[] {
  if (!(most > 0)) return [0];
  const rough = most / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((each) => each * power >= rough) ?? 10) * power;
  const ticks: number[] = [];
  for (let index = 0; index * step <= 0.93 * most; index++) ticks.push(index * step);
  return ticks;
}

/** Powers of ten from below `low` to above `high`. */
export function decades(low: number, high: number): number[] {
  const first = Math.floor(Math.log10(low));
  const last = Math.max(first + 1, Math.ceil(Math.log10(high)));
  return Array.from({ length: last - first + 1 }, (_, index) => 10 ** (first + index));
}
