/**
 * @file JSON that a terminal may show: what names in it hold is spelt out, and means the same to whoever reads it. Every JSON and SARIF
 * report passes here.
 */
import { shortened } from "../ir/format.ts";

/** UTF-16 units: longer than any path of a file or page of documentation, and than any name that says something. */
const longestString = 16_384;

/**
 * Two spaces deep, with a line end. Control characters and marks of direction stand as escapes; what a model has of strings that are
 * longer than anyone reads, values and keys, is cut in its middle.
 */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value, cut, 2);
  const escaped = text.replaceAll(/[\u007f-\u009f\p{Cf}\u2028\u2029]/gu, escapeOf);
  return `${escaped}\n`;
}

/** For JSON.stringify. */
function cut(_: string, value: unknown): unknown {
  if (typeof value === "string") return shortened(value, longestString);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const isLong = (key: string) => key.length > longestString;
  return Object.keys(value).some(isLong) ? withShortKeys(value) : value;
}

/** Keys that look alike once they are cut are numbered: none takes another's place. */
function withShortKeys(value: object): object {
  const entries = new Map<string, unknown>();
  for (const [key, each] of Object.entries(value)) {
    const short = shortened(key, longestString);
    let unique = short;
    for (let number = 2; entries.has(unique); number++) unique = `${short} (${number})`;
    entries.set(unique, each);
  }
  return Object.fromEntries(entries);
}

function escapeOf(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}
