/** @file JSON that a terminal may show: what names in it hold is spelt out, and means the same to whoever reads it. */

/** Two spaces deep, with a line end. Control characters and marks of direction stand as escapes. */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value, undefined, 2);
  const escaped = text.replaceAll(/[\u007f-\u009f\p{Cf}\u2028\u2029]/gu, escapeOf);
  return `${escaped}\n`;
}

function escapeOf(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}
