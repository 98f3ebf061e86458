/** @file Sizes that nobody said: what a report says of them. */
import { followsFrom } from "./symbols.ts";

/** Of the symbols that nobody bound, those that do not follow from what somebody did: `sizes` has all. */
export function openSymbols(
  assumed: readonly string[],
  sizes: Readonly<Record<string, number>>,
): readonly string[] {
  const open = new Set(assumed);
  const given = new Map(Object.entries(sizes).filter(([name]) => !open.has(name)));
  return assumed.filter((name) => !followsFrom(name, given));
}

/** `priced at batch=1, tokens=128 (assumed)`; empty where nothing is assumed. */
export function assumedText(
  assumed: readonly string[],
  sizes: Readonly<Record<string, number>>,
): readonly string[] {
  const open = openSymbols(assumed, sizes);
  return open.length === 0
    ? []
    : [`priced at ${open.map((name) => `${name}=${sizes[name]}`).join(", ")} (assumed)`];
}
