/** @file Padding that came about in several rounds, told as what the file has then. */
import { continued, paddingText } from "../passes/align/told.ts";
import type { FixNote } from "./pipeline.ts";

/** A change that pads further what one before it has padded is one with it, and saves what both do. */
export function paddedOnce(notes: readonly FixNote[]): FixNote[] {
  const told: FixNote[] = [];
  for (const note of notes) {
    const { padding: next } = note;
    const both = (before: FixNote) =>
      next === undefined || before.padding === undefined ? undefined : continued(before.padding, next);
    const at = told.findIndex((before) => both(before) !== undefined);
    const first = told[at];
    const padding = first && both(first);
    if (first === undefined || padding === undefined) told.push(note);
    else told[at] = { ...joined(first, note), padding, message: paddingText(padding) };
  }
  return told;
}

function joined(first: FixNote, next: FixNote): FixNote {
  const products = [...new Set([...(first.products ?? []), ...(next.products ?? [])])];
  const known = [first, next].flatMap(({ microseconds }) => microseconds ?? []);
  const microseconds = known.length === 0 ? undefined : known.reduce((sum, each) => sum + each, 0);
  return { ...first, products, microseconds };
}
