/** @file Lines that are longer than a terminal is wide: broken between words, so that what hangs together stays in view. */
import textWidth from "./text-width.ts";

/** Columns of what stands before a line's text: a severity, or the word `note`. */
export const hanging = 9;
/** A terminal narrower than this breaks the lines itself. */
const leastColumns = 40;

/** `--fix --precision fp16;`: half of it would be another command. A flag goes with what stands behind it, whether that is its value or not. */
const command = "(?:tc-lint [a-z]+ )?(?:--[\\w-]+ (?:[^ -][^ ]* (?=--))?)*[^ ]+";
/** `40 µs),` */
const figure = "[^ ]*\\d (?:[nµm]?s|%)(?![^),;:. ])[^ ]*";
/** What is not broken. Spaces in front and between columns belong to the word behind them. */
const words = new RegExp(` *(?:${figure}|${command})`, "g");

/** Every line in pieces that fit, each after the first as far in as the text is; all as they are where `columns` is undefined. */
export function foldedLines(lines: readonly string[], columns: number | undefined): readonly string[] {
  if (columns === undefined || columns < leastColumns) return lines;
  return lines.flatMap((line) => (textWidth(line) <= columns ? [line] : folded(line, columns)));
}

/** Rows of a terminal that lines take: what is longer than it is wide all the same, such as a path, goes on in the next. */
export function rowsOf(lines: readonly string[], columns: number): number {
  const rows = foldedLines(lines, columns).map((line) => Math.ceil(textWidth(line) / columns));
  return rows.reduce((sum, each) => sum + Math.max(1, each), 0);
}

/** A word that fits nowhere, such as a path, is left whole. */
function folded(line: string, columns: number): string[] {
  const pieces: string[] = [];
  let piece = "";
  let width = 0;
  for (const word of line.match(words) ?? []) {
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
