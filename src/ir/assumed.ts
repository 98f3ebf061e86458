/** @file Sizes that nobody said: what a report says of them. */
import type { Model } from "./model.ts";
import { followsFrom, symbolsOfInputs } from "./symbols.ts";

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
  return open.length === 0 ? [] : [`priced at ${sizesText(open, sizes)} (assumed)`];
}

/** `batch=1, tokens=128`. */
export function sizesText(names: readonly string[], sizes: Readonly<Record<string, number>>): string {
  return names.map((name) => `${name}=${sizes[name]}`).join(", ");
}

/** Of the symbols, those that no input has: what the model finds when it runs. */
export function foundSizes(
  model: Model,
  symbols: ReadonlySet<string>,
): { readonly found?: readonly string[] } {
  const onInputs = symbolsOfInputs(model);
  const found = [...symbols].filter((name) => !onInputs.has(name)).sort();
  return found.length === 0 ? {} : { found };
}
