/** @file Parts of a saving, each predicted by itself, beside the whole that they are parts of. */

import { groupBy } from "../ir/group.ts";

/** What is decided together; parts of one whole name the same object. */
export interface Whole {
  /** That it saves in a run of the model, with what it costs around the products: in passes that grow, and copies at the model's ends. */
  readonly microseconds: number;
}

/** A part that is taken to save `microseconds` by itself. */
interface Part {
  readonly whole: Whole;
  readonly microseconds: number;
}

/** What each part saves where those of one whole add up to no more than it. */
export function withinWholes<P extends Part>(parts: readonly P[]): ReadonlyMap<P, number> {
  const saved = new Map<P, number>();
  for (const [whole, own] of groupBy(parts, (part) => part.whole)) {
    const sum = own.reduce((total, { microseconds }) => total + microseconds, 0);
    const factor = sum <= whole.microseconds ? 1 : Math.max(0, whole.microseconds) / sum;
    for (const part of own) saved.set(part, part.microseconds * factor);
  }
  return saved;
}

/** Products that are padded together, or not at all. */
export interface SavedPart extends Whole {
  /** Of nodes in the main graph. */
  readonly labels: ReadonlySet<string>;
}

/** What pads other axes of the same product later is one part with what came before. */
export function partsByLabel(parts: readonly SavedPart[]): ReadonlyMap<string, SavedPart> {
  const byLabel = new Map<string, SavedPart>();
  for (const part of parts) {
    const known = new Set([...part.labels].flatMap((label) => byLabel.get(label) ?? []));
    const all = [...known, part];
    const labels = new Set(all.flatMap((each) => [...each.labels]));
    const microseconds = all.reduce((sum, each) => sum + each.microseconds, 0);
    const whole = { labels, microseconds };
    for (const label of labels) byLabel.set(label, whole);
  }
  return byLabel;
}
