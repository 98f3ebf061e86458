/**
 * @file Markup that is escaped by how it is written. What stands between the parts of an `html` template is text of whoever made the
 * model, unless it is markup itself: there is no other way to put something on the page.
 */
import { plain, shortened } from "../../ir/format.ts";

/** Longer than any name that says something. */
const longestText = 2000;

export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export type Part = string | number | Markup | undefined | readonly Part[];

/** Text is escaped for elements and quoted attributes alike; lists are joined; undefined is nothing. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(strings.map((text, index) => text + textOf(parts[index])).join(""));
}

function textOf(part: Part): string {
  if (part === undefined) return "";
  if (part instanceof Markup) return part.text;
  if (typeof part === "object") return part.map(textOf).join("");
  return escaped(typeof part === "number" ? String(part) : part);
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
  "`": "&#96;",
};

/** Control characters and marks of direction stand spelt out, as in every report. */
export function escaped(text: string): string {
  const shown = plain(shortened(text, longestText));
  return shown.replaceAll(/[&<>"'`]/g, (character) => entities[character] ?? "");
}

/** Markup of the tool's own that is no template: its style and its script. */
export function trusted(text: string): Markup {
  return new Markup(text);
}

/**
 * JSON inside a script element. Neither an end tag, a comment nor a line separator is in it, and whoever parses it reads what was
 * written; names that are too long for anyone are cut.
 */
export function jsonMarkup(value: unknown): Markup {
  const cut = (_: string, each: unknown) => (typeof each === "string" ? shortened(each, longestText) : each);
  const text = JSON.stringify(value, cut);
  return new Markup(
    text.replaceAll(/[<>&\u007f-\u009f\p{Cf}\u2028\u2029]/gu, (character) =>
      Array.from({ length: character.length }, (_, at) => unitEscape(character.charCodeAt(at))).join(""),
    ),
  );
}

function unitEscape(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, "0")}`;
}

/** A number as attributes of a drawing have it. */
export function at(value: number): string {
  return String(Math.round(value * 100) / 100);
}
