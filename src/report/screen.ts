/** @file What a terminal shows at once of one model: gaps yield to what is worst, and findings are cut to what fits. */
import { counted } from "../ir/format.ts";
import type { Palette } from "./color.ts";
import { rowsOf } from "./fold.ts";

/** What is said of a model; every entry in lines of its own. */
export interface View {
  readonly above: readonly string[];
  readonly account: readonly string[];
  readonly entries: readonly (readonly string[])[];
  readonly notes: readonly string[];
}

/** What stands around the findings, and these. */
export interface Layout {
  readonly head: readonly string[];
  readonly entries: View["entries"];
  readonly notes: readonly string[];
}

/** As they are best read first: gaps above the notes, and then above the account, yield to what is worst, and then all that the next view lacks. */
export function* layoutsOf(views: readonly ((this: void) => View)[]): Generator<Layout> {
  for (const viewOf of views) {
    const { above, account, entries, notes } = viewOf();
    const head = [...above, ...spaced(account)];
    yield { head, entries, notes: spaced(notes) };
    yield { head, entries, notes };
    yield { head: [...above, ...account], entries, notes };
  }
}

/** The first that leaves room for what is worst, with the gap above it and the line that says how much more there is; the last where none does. */
export function fittingLayout(layouts: Iterable<Layout>, screen: Screen): Layout {
  let last: Layout = { head: [], entries: [], notes: [] };
  for (const layout of layouts) {
    last = layout;
    const [worst = [], ...more] = layout.entries;
    const wanted = worst.length === 0 ? 0 : rowsOf(worst, screen.width) + (more.length === 0 ? 1 : 2);
    if (roomBeside(layout, screen) >= wanted) break;
  }
  return last;
}

export interface Screen {
  readonly width: number;
  /** All that one model has, of its title to its last note. */
  readonly rows: number;
}

/** What a terminal shows at once of one model beside these lines, which close the report; of a whole report there is no end. */
export function screenOf(columns: number | undefined, closing: readonly string[], isWhole: boolean): Screen {
  const width = columns ?? usualColumns;
  return { width, rows: isWhole ? Number.POSITIVE_INFINITY : screenRows - rowsOf(closing, width) - 1 };
}

/** Rows that these lines leave. */
export function roomBeside({ head, notes }: Pick<Layout, "head" | "notes">, { width, rows }: Screen): number {
  return rows - rowsOf([...head, ...notes], width);
}

const screenRows = 25;
/** Of a terminal, where the report goes elsewhere and its lines are left whole. */
export const usualColumns = 120;

export function spaced(lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : ["", ...lines];
}

/**
 * The worst in full, then a line each, then how many more there are: what fits into so many rows of a terminal. A line each where that
 * shows errors that would be left out: they end the run with 1.
 */
export function fitting(
  entries: readonly (readonly string[])[],
  room: number,
  width: number,
  palette: Palette,
  isError: (entry: number) => boolean,
): readonly string[] {
  if (rowsOf(entries.flat(), width) < room) return entries.flat();
  // A row is kept for what is left out, and one for the gap before the list.
  const most = room - 2;
  const shown = bestCut((full) => cutTo(entries, full, most, width), entries.length, isError);
  const kept = shown.entries === 1 ? cutLines(shown.lines, most, width) : shown.lines;
  const more = Array.from(entries.slice(shown.entries), (_, index) => isError(shown.entries + index));
  const left = leftText(kept.length < shown.lines.length, more);
  return left === undefined ? kept : [...kept, `  ${palette.dim(left)}`];
}

/** Of cuts with so many entries in full. */
function bestCut(cut: (full: number) => Shown, entries: number, isError: (entry: number) => boolean): Shown {
  let full = entries;
  let best = cut(full);
  // Some in full say more than all by name.
  while (best.entries < entries && full > 0 && !(full <= fullFirst && best.full === full)) best = cut(--full);
  const errorsIn = ({ entries: count }: Shown) =>
    Array.from({ length: count }, (_, at) => isError(at)).filter(Boolean).length;
  while (full > 0 && best.entries < entries) {
    const next = cut(--full);
    if (errorsIn(next) > errorsIn(best)) best = next;
  }
  return best;
}

/** `more of this, and 2 more entries, 1 of them an error: --verbose lists them`; undefined where all of it is there. */
function leftText(isCut: boolean, isError: readonly boolean[]): string | undefined {
  const entries = isError.length;
  const errors = isError.filter(Boolean).length;
  const ofThem = errors === 0 ? "" : `, ${errors} of them ${errors === 1 ? "an error" : "errors"}`;
  const more = `${counted(entries, "more entry", "more entries")}${ofThem}`;
  if (entries === 0) return isCut ? "more of this: --verbose has it" : undefined;
  return `${isCut ? "more of this, and " : ""}${more}: --verbose lists them`;
}

/** The first of an entry's lines, which say most, in so many rows; one at the least. */
function cutLines(lines: readonly string[], most: number, width: number): readonly string[] {
  const fits = (count: number) => rowsOf(lines.slice(0, count), width) <= most;
  let count = lines.length;
  while (count > 1 && !fits(count)) count--;
  return lines.slice(0, count);
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
