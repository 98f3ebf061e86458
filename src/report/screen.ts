/** @file What a terminal shows at once of one model: gaps yield to what is worst, and findings are cut to what fits. */
import { counted } from "../ir/format.ts";
import type { Palette } from "./color.ts";
import { rowsOf } from "./fold.ts";

interface Parts {
  readonly above: readonly string[];
  readonly account: readonly string[];
  readonly said: readonly string[];
  /** The first entry. */
  readonly worst: readonly string[];
}

/** Gaps above the account, and then above the notes, yield to what is worst, and to the line that says how much more there is. */
export function withGaps(
  { above, account, said, worst }: Parts,
  isWhole: boolean,
  width: number,
): { readonly head: readonly string[]; readonly notes: readonly string[] } {
  const head = [...above, ...spaced(account)];
  const tight = [...above, ...account];
  const notes = spaced(said);
  const fits = (lines: readonly string[]) => isWhole || rowsOf(worst, width) + 2 <= roomBeside(lines, width);
  if (fits([...head, ...notes])) return { head, notes };
  return fits([...tight, ...notes]) ? { head: tight, notes } : { head: tight, notes: said };
}

/** Rows of a terminal that these lines and the footer leave. */
export function roomBeside(lines: readonly string[], width: number): number {
  return screenRows - rowsOf(lines, width) - footerHeight;
}

/** What a terminal shows at once of one model, its findings cut to what fits. */
const screenRows = 25;
/** Of a terminal, where the report goes elsewhere and its lines are left whole. */
export const usualColumns = 120;
/** Counts, and the line above them. */
const footerHeight = 3;

export function spaced(lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ["", ...lines];
}

/** The worst in full, then a line each, then how many more there are: what fits into so many rows of a terminal. */
export function fitting(
  entries: readonly (readonly string[])[],
  room: number,
  width: number,
  palette: Palette,
): readonly string[] {
  if (rowsOf(entries.flat(), width) < room) return entries.flat();
  // A row is kept for what is left out, and one for the gap before the list.
  const most = Math.max(room - 2, leastRoom);
  let shown: Shown = { lines: [], entries: 0, full: 0 };
  for (let full = entries.length; full >= 0; full--) {
    shown = cutTo(entries, full, most, width);
    if (shown.entries === entries.length) return shown.lines;
    // Some in full say more than all by name.
    if (full <= fullFirst && shown.full === full) break;
  }
  const left = entries.length - shown.entries;
  return [
    ...shown.lines,
    `  ${palette.dim(`${counted(left, "more entry", "more entries")}: --verbose lists them`)}`,
  ];
}

interface Shown {
  readonly lines: readonly string[];
  /** How many entries have a line among them, and how many all of theirs. */
  readonly entries: number;
  readonly full: number;
}

/** As many entries as fit into so many rows, of which the first `full` have all their lines. */
function cutTo(entries: readonly (readonly string[])[], full: number, most: number, width: number): Shown {
  const lines: string[] = [];
  let rows = 0;
  let count = 0;
  for (const [index, whole] of entries.entries()) {
    const next = index < full ? whole : whole.slice(0, 1);
    rows += rowsOf(next, width);
    if (rows > most && count > 0) break;
    for (const line of next) lines.push(line);
    count += 1;
  }
  return { lines, entries: count, full: Math.min(full, count) };
}

/** Entries that are shown in full before others get a line each. */
const fullFirst = 2;
/** A long head leaves room for what is worst all the same. */
const leastRoom = 4;
