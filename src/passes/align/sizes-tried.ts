/** @file Sizes that the search tries, and which atoms it tries them for together. */
import type { Atom } from "../../ir/axis.ts";

export const steps = [2, 4, 8, 16, 32, 64] as const;
const mostGrowth = 1.5;
/** Halves in the 16 bytes of one load. */
export const vector = 8;

/** n, then the next multiples of 2, 4, 8, 16, 32 and 64 up to half as much again. */
export function candidatesOf(size: number): number[] {
  const sizes = [size];
  // A few channels may grow to a whole vector: 3 to 4 is more than half as much again of nothing.
  const most = Math.max(mostGrowth * size, 8);
  let last = size;
  for (const step of steps) {
    // Every step is a multiple of the one before, so this never falls.
    const padded = Math.ceil(size / step) * step;
    if (padded > last && padded <= most) sizes.push(padded);
    last = padded;
  }
  return sizes;
}

/** Atoms of one size that are padded to one: blocks of a kind are to come out alike. */
export function alikeIn(sizes: ReadonlyMap<Atom, number>): readonly Alike[] {
  const alike = new Map<string, [[Atom, number], ...[Atom, number][]]>();
  for (const [atom, size] of sizes) {
    const key = `${atom.size} ${size}`;
    const known = alike.get(key);
    if (known === undefined) alike.set(key, [[atom, size]]);
    else known.push([atom, size]);
  }
  return [...alike.values()];
}

export type Alike = readonly [readonly [Atom, number], ...(readonly [Atom, number])[]];
