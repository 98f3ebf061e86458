/** @file Whether a difference of measured times is one. */
import type { Times } from "../../../cuda-runtime/session/timing.ts";
import type { Difference } from "../../fix/measured.ts";

/** One launch of a plan, as it was measured by itself. */
export interface StepTime {
  /** Steps of one key are launched alike. */
  readonly key: string;
  readonly times: Times;
}

/** Standard errors that a difference has to be beyond. */
const errors = 2;
/** Of a normal distribution: what lies between its tenths, and a median's error beside a mean's. */
const tenths = 2.563;
const medianError = 1.253;
/** Clocks and temperature move between two measurements: of the time of what differs. */
const stepDrift = 0.01;
const runDrift = 0.003;

/** Of two plans, by the steps that only one of them has; all others take what they take in both. */
export function differenceOfSteps(before: readonly StepTime[], after: readonly StepTime[]): Difference {
  const own = [countOf(before), countOf(after)] as const;
  const sums = [0, 0];
  let variance = 0;
  for (const [side, steps] of [before, after].entries()) {
    const seen = new Set<string>();
    for (const { key, times } of steps) {
      if (seen.has(key)) continue;
      seen.add(key);
      const [mine, others] = side === 0 ? own : [own[1], own[0]];
      const extra = (mine.get(key) ?? 0) - (others.get(key) ?? 0);
      if (extra <= 0) continue;
      sums[side] = (sums[side] ?? 0) + extra * times.median;
      variance += (extra * errorOf(times)) ** 2;
    }
  }
  const [first = 0, second = 0] = sums;
  return {
    before: first,
    after: second,
    noise: errors * Math.sqrt(variance) + stepDrift * Math.max(first, second),
  };
}

function countOf(steps: readonly StepTime[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { key } of steps) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

/** Of a median. */
function errorOf({ low, high, repeats }: Times): number {
  return (medianError * (high - low)) / tenths / Math.sqrt(Math.max(1, repeats));
}

/** Of two models that were run in turns: medians of each turn. */
export function differenceOfTurns(before: readonly number[], after: readonly number[]): Difference {
  const changes = before.map((time, turn) => time - (after[turn] ?? time));
  const [first, second, change] = [medianOf(before), medianOf(after), medianOf(changes)];
  const spread = medianOf(changes.map((each) => Math.abs(each - change)));
  const sigma = 1.4826 * spread;
  const error = (medianError * sigma) / Math.sqrt(Math.max(1, changes.length));
  return { before: first, after: second, noise: errors * error + runDrift * Math.max(first, second) };
}

export function medianOf(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const [low, high] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]];
  return ((low ?? Number.NaN) + (high ?? Number.NaN)) / 2;
}

export function gains({ before, after, noise }: Difference): boolean {
  return before - after > noise;
}

export function loses({ before, after, noise }: Difference): boolean {
  return after - before > noise;
}
