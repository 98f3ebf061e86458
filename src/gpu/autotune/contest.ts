/** @file Which candidates are worth a measurement, and which of those that were measured is taken. */
import { differenceOfTurns, gains, medianOf } from "../prove/judge.ts";
import type { Way } from "./recorder.ts";

/** Predictions of one family are this far apart from each other's truth: what is predicted slower by more is not tried. */
const factor = 1.6;
const most = 6;
/** Of these, kernels that differ in more than their cut. */
const mostVariants = 4;
/** What a challenger has to win by, of the time of what was predicted to be best. */
const leastGain = 0.02;
/** Of the turns, that it has to win: a median alone believes whatever half of them say. */
const leastTurns = 0.8;

/** Of candidates by predicted time: the first, the best cut of some others, and what else is predicted to be fast. */
export function contendersOf(ways: readonly Way[]): Way[] {
  const [best] = ways;
  if (best === undefined) return [];
  const near = ways.filter(({ microseconds }) => microseconds <= factor * best.microseconds);
  const names = new Set<string>();
  const distinct = near.filter(({ name }) => !names.has(name) && names.add(name));
  const variants = new Map<string, Way>();
  for (const way of distinct) if (!variants.has(way.variant)) variants.set(way.variant, way);
  const chosen = new Set([...variants.values()].slice(0, mostVariants));
  for (const way of distinct) if (chosen.size < most) chosen.add(way);
  return distinct.filter((way) => chosen.has(way));
}

/** Index of what is taken: the first, unless another is faster beyond noise and by enough to matter. */
export function winnerOf(turns: readonly (readonly number[])[]): number {
  const [first = []] = turns;
  let winner = 0;
  for (const [index, own] of turns.entries()) {
    if (index === 0 || own.length < first.length) continue;
    const difference = differenceOfTurns(first, own);
    const won = first.filter((time, turn) => (own[turn] ?? time) < time).length;
    if (won < leastTurns * first.length) continue;
    const isBetter =
      gains(difference) && difference.before - difference.after > leastGain * difference.before;
    if (isBetter && medianOf(own) < medianOf(turns[winner] ?? [])) winner = index;
  }
  return winner;
}
