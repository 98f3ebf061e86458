/** @file Lines that are longer than a terminal is wide: broken between words, so that what hangs together stays in view. */
import textWidth from "./text-width.ts";

/** Columns of what stands before a line's text: a severity, or the word `note`. */
const hanging = 9;
/** A terminal narrower than this breaks the lines itself. */
const leastColumns = 40;

/** Every line in pieces that fit, each after the first as far in as the text is; all as they are where `columns` is undefined. */
export function foldedLines(lines: readonly string[], columns: number | undefined): readonly string[] {
  if (columns === undefined || columns < leastColumns) return lines;
  return lines.flatMap((line) => (textWidth(line) <= columns ? [line] : folded(line, columns)));
}

/** Rows of a terminal that lines take. */
export function rowsOf(lines: readonly string[], columns: number): number {
  return foldedLines(lines, columns).length;
}

/** A word that fits nowhere, such as a path, is left whole. */
function folded(line: string, columns: number): string[] {
  const pieces: string[] = [];
  let piece = "";
  let width = 0;
  // Spaces in front and between columns belong to the word behind them.
  for (const word of line.match(/ *[^ ]+/g) ?? []) {
    const wordWidth = textWidth(word);
    if (piece !== "" && width + wordWidth > columns) {
      pieces.push(piece);
      piece = " ".repeat(hanging) + word.trimStart();
      width = textWidth(piece);
    } else {
      piece += word;
      width += wordWidth;
    }
  }
  return [...pieces, piece];
}
