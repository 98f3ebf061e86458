/** @file Markdown of what models hold: text that stays text, and a summary that is not refused. */
import { counted, printable } from "../ir/format.ts";

/** A step summary above it is refused whole. */
export const summaryBytes = 1 << 20;

/** A comment has at most 65,536 characters, some of them whoever posts it adds. */
export const commentBytes = 60_000;

/** A step may say as much as a comment before its report: the two together are no larger than a summary. */
export const reportBytes = 900_000;

/** Sections as long as they fit; what is left out is counted. */
export function withinLimit(head: string, sections: readonly string[], maxBytes = reportBytes): string {
  let text = head;
  for (const [index, section] of sections.entries()) {
    const next = `${text}\n${section}`;
    if (Buffer.byteLength(next) > maxBytes) {
      const left = sections.length - index;
      return `${text}\n${counted(left, "model is", "models are")} left out: the summary would be too large. \`tc-lint -f json\` has everything.\n`;
    }
    text = next;
  }
  return text;
}

/**
 * Names come from the model: nothing in them may end a cell, open a tag or a formula, link an issue, a merge request or another site, or
 * mention a person. Forges look for these in what Markdown has become, where an entity is its character again: something without width
 * parts them.
 */
export function escaped(text: string): string {
  return printable(text)
    .replaceAll(/[&<>|@#$]/g, (character) => `&#${character.codePointAt(0)};`)
    .replaceAll(/[\\`*_[\]~]/g, "\\$&")
    .replaceAll(/(?:&#(?:64|35|36|38);|[!%]|\\~)(?=\w)/g, `$&${nothing}`)
    .replaceAll(/:(?=[\w+-]+:)|\bGH-(?=\d)/gi, `$&${nothing}`)
    .replaceAll(/:\/\//g, `:${nothing}//`)
    .replaceAll(/\b(www)\./gi, `$1${nothing}.`);
}

/** A space of no width. */
const nothing = "&#8203;";

/** Code in a table: a pipe ends the cell even inside backticks. */
export function code(text: string): string {
  const plain = printable(text);
  return /[`|<>\\@]/.test(plain) ? escaped(plain) : `\`${plain}\``;
}
