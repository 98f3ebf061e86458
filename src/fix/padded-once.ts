/** @file Padding that came about in several rounds, told as what the file has then. */
import { continued, paddingText, type ToldPadding } from "../passes/align/told.ts";
import type { FixNote, FixRegion } from "./pipeline.ts";

interface Padded {
  readonly padding?: ToldPadding | undefined;
}

/** A change that pads further what one before it has padded is one with it, and saves what both do. */
export function paddedOnce(notes: readonly FixNote[]): FixNote[] {
  return joinedRounds(notes, (first, next, padding) => ({
    ...both(first, next),
    padding,
    message: paddingText(padding),
  }));
}

/** The same of what is measured by itself: one is not made without the other. */
export function regionsPaddedOnce(regions: readonly FixRegion[]): FixRegion[] {
  return joinedRounds(regions, (first, next, padding) => ({
    ...first,
    padding,
    what: paddingText(padding),
    shape: JSON.stringify([first.shape, next.shape]),
    parts: [...new Set([...first.parts, ...next.parts])],
    microseconds: first.microseconds + next.microseconds,
    addsInside: first.addsInside ?? next.addsInside,
  }));
}

function joinedRounds<Each extends Padded>(
  all: readonly Each[],
  join: (first: Each, next: Each, padding: ToldPadding) => Each,
): Each[] {
  const told: Each[] = [];
  for (const each of all) {
    const { padding: next } = each;
    const continuing = (before: Each) =>
      next === undefined || before.padding === undefined ? undefined : continued(before.padding, next);
    const at = told.findIndex((before) => continuing(before) !== undefined);
    const first = told[at];
    const padding = first && continuing(first);
    if (first === undefined || padding === undefined) told.push(each);
    else told[at] = join(first, each, padding);
  }
  return told;
}

function both(first: FixNote, next: FixNote): FixNote {
  const products = [...new Set([...(first.products ?? []), ...(next.products ?? [])])];
  const known = [first, next].flatMap(({ microseconds }) => microseconds ?? []);
  const microseconds = known.length === 0 ? undefined : known.reduce((sum, each) => sum + each, 0);
  return { ...first, products, microseconds };
}
